/* read, accept: a program's members, variables and static functions keep their names; pointers to the functions are mapped. */
#include "../conformance/check.h"

#include <poll.h>

/* Members with names that are mapped. */
struct stream {
    ssize_t (*read)(int, void *, size_t);
    int (*poll)(struct stream *, int);
    int close, select;
};

/* A static function with such a name. */
static int accept(int send)
{
    return send + 1;
}

/* Another one, as a member. */
static int poll_stream(struct stream *stream, int write)
{
    return stream->close + write;
}

static int ends[2];

static void *answer(void *unused)
{
    IS(write(ends[1], "yes", 3), 3);
    return unused;
}

static void test(void)
{
    struct stream stream = {.read = read, .poll = poll_stream, .close = 4, .select = 5};
    char bytes[4] = "";
    OK(pipe(ends));
    pthread_t thread = start(answer, NULL);
    /* On one processor, this one has to block the fibre only. */
    IS(stream.read(ends[0], bytes, sizeof bytes), 3);
    finish(thread);
    OK(strcmp(bytes, "yes"));
    int sleep = stream.poll(&stream, 2) + stream.select;
    IS(sleep, 11);
    IS(accept(3), 4);
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
