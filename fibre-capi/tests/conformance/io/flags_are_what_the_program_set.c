/* fcntl, ioctl: F_GETFL shows O_NONBLOCK only if the program set it, also after calls that have waited. */
#include "../check.h"

#include <sys/ioctl.h>
#include <sys/socket.h>

static int ends[2];

static void *write_later(void *unused)
{
    let_block();
    IS(write(ends[1], "x", 1), 1);
    return unused;
}

static void test(void)
{
    char byte;
    int on = 1, off = 0;
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    IS(fcntl(ends[0], F_GETFL) & O_NONBLOCK, 0);
    pthread_t thread = start(write_later, NULL);
    IS(read(ends[0], &byte, 1), 1);
    finish(thread);
    IS(fcntl(ends[0], F_GETFL) & O_NONBLOCK, 0);
    OK(ioctl(ends[0], FIONBIO, &on));
    IS(fcntl(ends[0], F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    FAILS(read(ends[0], &byte, 1), EAGAIN);
    OK(ioctl(ends[0], FIONBIO, &off));
    IS(fcntl(ends[0], F_GETFL) & O_NONBLOCK, 0);
    thread = start(write_later, NULL);
    IS(read(ends[0], &byte, 1), 1);
    finish(thread);
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
