/* shutdown: after SHUT_WR the peer reads 0, and can still send. */
#include "../check.h"

#include <sys/socket.h>

static int ends[2];

static void *answer(void *unused)
{
    char byte;
    IS(read(ends[1], &byte, 1), 1);
    IS(read(ends[1], &byte, 1), 0);
    IS(write(ends[1], "y", 1), 1);
    return unused;
}

static void test(void)
{
    char byte = 0;
    signal(SIGPIPE, SIG_IGN);
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    pthread_t thread = start(answer, NULL);
    IS(write(ends[0], "x", 1), 1);
    let_block();
    OK(shutdown(ends[0], SHUT_WR));
    FAILS(write(ends[0], "x", 1), EPIPE);
    IS(read(ends[0], &byte, 1), 1);
    IS(byte, 'y');
    finish(thread);
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
