/* fgets, pthread_cancel, pthread_testcancel: a thread that waits for a line of a stream is cancelled, and the stream can be closed. */
#include "../check.h"

#include <sys/socket.h>

static atomic_int waits;

static void *read_lines(void *stream)
{
    char line[100];
    waits = 1;
    while (fgets(line, sizeof line, (FILE *)stream) != NULL)
        ;
    pthread_testcancel();
    return NULL;
}

static void test(void)
{
    int pair[2];
    waits = 0;
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    FILE *stream = fdopen(pair[0], "r");
    CHECK(stream != NULL);
    pthread_t reader = start(read_lines, stream);
    AWAIT(waits);
    let_block();
    OK(pthread_cancel(reader));
    IS(finish(reader), PTHREAD_CANCELED);
    OK(fclose(stream));
    FAILS(close(pair[0]), EBADF);
    OK(close(pair[1]));
}

int main(void)
{
    return on_both(test);
}
