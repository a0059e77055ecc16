/* select: leaves in its sets what is ready, and returns how many that are; EBADF for closed ones. */
#include "../check.h"

#include <sys/select.h>

static int ends[2];

static void *write_later(void *unused)
{
    let_block();
    IS(write(ends[1], "x", 1), 1);
    return unused;
}

static void test(void)
{
    fd_set in, out;
    OK(pipe(ends));
    int top = (ends[0] > ends[1] ? ends[0] : ends[1]) + 1;
    FD_ZERO(&in);
    FD_ZERO(&out);
    FD_SET(ends[0], &in);
    FD_SET(ends[1], &out);
    IS(select(top, &in, &out, NULL, NULL), 1);
    CHECK(!FD_ISSET(ends[0], &in) && FD_ISSET(ends[1], &out));
    FD_SET(ends[0], &in);
    pthread_t thread = start(write_later, NULL);
    IS(select(top, &in, NULL, NULL, NULL), 1);
    CHECK(FD_ISSET(ends[0], &in));
    IS(select(top, &in, &out, NULL, NULL), 2);
    finish(thread);
    /* Of a set that is passed twice, as some programs do, the last answer stays. */
    fd_set *same = &in;
    FD_SET(ends[0], &in);
    IS(select(top, &in, same, NULL, NULL), 1);
    CHECK(!FD_ISSET(ends[0], &in));
    FD_SET(ends[0], &in);
    OK(close(ends[0]));
    OK(close(ends[1]));
    FAILS(select(top, &in, NULL, NULL, NULL), EBADF);
}

int main(void)
{
    return on_both(test);
}
