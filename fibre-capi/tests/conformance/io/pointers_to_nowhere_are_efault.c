/* select, pselect, poll, ppoll, epoll_wait, nanosleep, clock_nanosleep, sigtimedwait, pthread_sigmask, sigpending: EFAULT for pointers to what
 * is not there. */
#include "nowhere.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

static void test(void)
{
    struct timespec none = {0, 0};
    sigset_t set;
    int instance = epoll_create1(0);
    sigemptyset(&set);
    for (int i = 0; i < PLACES; i++) {
        void *volatile there = nowhere(i);
        FAILS(select(8, there, NULL, NULL, NULL), EFAULT);
        FAILS(select(8, NULL, there, NULL, NULL), EFAULT);
        FAILS(select(8, NULL, NULL, there, NULL), EFAULT);
        FAILS(pselect(8, there, NULL, NULL, &none, NULL), EFAULT);
        FAILS(pselect(0, NULL, NULL, NULL, &none, there), EFAULT);
        FAILS(poll(there, 1, 0), EFAULT);
        FAILS(ppoll(there, 1, &none, NULL), EFAULT);
        FAILS(ppoll(NULL, 0, &none, there), EFAULT);
        FAILS(epoll_pwait(instance, there, 0, 0, NULL), EINVAL);
        FAILS(epoll_pwait(instance, (void *)&none, 1, 0, there), EFAULT);
        FAILS(nanosleep(there, NULL), EFAULT);
        IS(clock_nanosleep(CLOCK_MONOTONIC, 0, there, NULL), EFAULT);
        IS(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, there, NULL), EFAULT);
        FAILS(sigtimedwait(&set, NULL, there), EFAULT);
        FAILS(sigtimedwait(there, NULL, &none), EFAULT);
        IS(pthread_sigmask(SIG_BLOCK, NULL, there), EFAULT);
        IS(pthread_sigmask(SIG_BLOCK, &set, there), EFAULT);
        FAILS(sigprocmask(SIG_BLOCK, NULL, there), EFAULT);
        FAILS(sigpending(there), EFAULT);
    }
    OK(close(instance));
}

int main(void)
{
    make_places();
    return on_both(test);
}
