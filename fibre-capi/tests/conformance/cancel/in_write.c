/* write, send: cancellation points when the pipe or socket is full. */
#include "../check.h"

#include <sys/socket.h>

static int pipe_ends[2], ends[2];
static atomic_long written[2];

static void *run(void *sends)
{
    static char block[4096];
    for (;;) {
        ssize_t done = sends ? send(ends[1], block, sizeof block, 0) : write(pipe_ends[1], block, sizeof block);
        CHECK(done > 0);
        written[sends != NULL] += done;
    }
    return NULL;
}

static void test(void)
{
    written[0] = written[1] = 0;
    OK(pipe(pipe_ends));
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    pthread_t threads[2] = {start(run, NULL), start(run, ends)};
    for (int i = 0; i < 2; i++) {
        AWAIT(written[i] > 0);
        let_block();
        OK(pthread_cancel(threads[i]));
        CHECK(finish(threads[i]) == PTHREAD_CANCELED);
    }
    for (int i = 0; i < 2; i++) {
        OK(close(pipe_ends[i]));
        OK(close(ends[i]));
    }
}

int main(void)
{
    return on_both(test);
}
