/* write, send: -1 with EPIPE if there is no reader and SIGPIPE is ignored. */
#include "../check.h"

#include <sys/socket.h>

static void test(void)
{
    int ends[2];
    signal(SIGPIPE, SIG_IGN);
    OK(pipe(ends));
    OK(close(ends[0]));
    FAILS(write(ends[1], "x", 1), EPIPE);
    OK(close(ends[1]));
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    OK(close(ends[0]));
    FAILS(write(ends[1], "x", 1), EPIPE);
    FAILS(send(ends[1], "x", 1, 0), EPIPE);
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
