/* write: in a fibre, -1 with EPIPE and no SIGPIPE: processors have the signal blocked. On sockets it is so everywhere. */
#include "../check.h"

#include <sys/socket.h>

static void signalled(int signal)
{
    (void)signal;
    end_with("a signal came\n");
}

static void *write_it(void *unused)
{
    int ends[2];
    OK(pipe(ends));
    OK(close(ends[0]));
    FAILS(write(ends[1], "x", 1), EPIPE);
    OK(close(ends[1]));
    return unused;
}

int main(void)
{
    int ends[2];
    watch();
    signal(SIGPIPE, signalled);
    finish(start(write_it, NULL));
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    OK(close(ends[0]));
    FAILS(write(ends[1], "x", 1), EPIPE);
    FAILS(send(ends[1], "x", 1, 0), EPIPE);
    return 0;
}
