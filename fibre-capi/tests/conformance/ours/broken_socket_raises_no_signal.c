/* write, send: to a socket that nobody reads, -1 with EPIPE and no SIGPIPE, whatever the flags. */
#include "../check.h"

#include <sys/socket.h>

static void signalled(int signal)
{
    (void)signal;
    end_with("a signal came\n");
}

static void test(void)
{
    int ends[2];
    signal(SIGPIPE, signalled);
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
