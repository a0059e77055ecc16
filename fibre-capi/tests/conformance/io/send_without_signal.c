/* send: with MSG_NOSIGNAL -1 with EPIPE and no signal, though SIGPIPE has a handler. */
#include "../check.h"

#include <sys/socket.h>

static void signalled(int signal)
{
    (void)signal;
    CHECK(!"a signal came");
}

static void test(void)
{
    int ends[2];
    signal(SIGPIPE, signalled);
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    OK(close(ends[0]));
    FAILS(send(ends[1], "x", 1, MSG_NOSIGNAL), EPIPE);
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
