/* epoll_wait: waits until something registered is ready, tells what, and 0 when the time is up; threads that must run meanwhile do. */
#include "../check.h"

#include <sys/epoll.h>

static int ends[2];

static void *writes(void *unused)
{
    (void)unused;
    usleep(20 * 1000);
    IS(write(ends[1], "x", 1), 1);
    return NULL;
}

static void test(void)
{
    int set = epoll_create1(EPOLL_CLOEXEC);
    CHECK(set >= 0);
    OK(pipe(ends));
    struct epoll_event one = {.events = EPOLLIN, .data.u32 = 77};
    OK(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &one));
    struct epoll_event found[4];
    IS(epoll_wait(set, found, 4, 0), 0);
    IS(epoll_wait(set, found, 4, 10), 0);
    for (int round = 0; round < 3; round++) {
        pthread_t writer;
        OK(pthread_create(&writer, NULL, writes, NULL));
        IS(epoll_wait(set, found, 4, -1), 1);
        IS(found[0].data.u32, 77);
        IS(found[0].events, EPOLLIN);
        /* It is told of until it has been read. */
        IS(epoll_pwait(set, found, 4, -1, NULL), 1);
        char byte;
        IS(read(ends[0], &byte, 1), 1);
        OK(pthread_join(writer, NULL));
        IS(epoll_wait(set, found, 4, 0), 0);
    }
    IS(epoll_wait(set, found, 0, 0), -1);
    IS(errno, EINVAL);
    OK(close(set));
    IS(epoll_wait(set, found, 4, 0), -1);
    IS(errno, EBADF);
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
