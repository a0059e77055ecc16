/* poll, select: while other things are the case than were asked, they wait and do not try again and again. */
#include "../check.h"

#include <poll.h>
#include <sys/select.h>
#include <sys/socket.h>

/* Processor time so far, in milliseconds. */
static long worked(void)
{
    struct timespec time;
    OK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time));
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* A poll for these events of a descriptor that the library has not seen, and that can be read and written. */
static void poll_for(int fd, short events)
{
    struct pollfd one = {.fd = fd, .events = events};
    IS(poll(&one, 1, 250), 0);
    IS(one.revents, 0);
}

static void test(void)
{
    int ends[2];
    OK(syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, ends));
    IS(syscall(SYS_write, ends[1], "x", 1), 1);
    long before = worked();
    poll_for(ends[0], POLLRDHUP);
    poll_for(ends[0], 0);
    poll_for(ends[0], POLLPRI);
    fd_set urgent;
    FD_ZERO(&urgent);
    FD_SET(ends[0], &urgent);
    struct timeval time = {0, 250000};
    IS(select(ends[0] + 1, NULL, NULL, &urgent, &time), 0);
    CHECK(worked() - before < 100);
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
