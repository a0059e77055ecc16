/* ppoll, pselect, epoll_pwait: main as the first fibre lets signals in for as long as it waits. */
/* flags: -DFIBRE_MAIN */
#include "../conformance/check.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

static int ends[2];
static atomic_int handled;

static void note(int signal)
{
    (void)signal;
    handled++;
    IS(write(ends[1], "x", 1), 1);
}

static void *send_one(void *unused)
{
    let_block();
    OK(kill(getpid(), SIGUSR1));
    return unused;
}

/* Waits in one of the ways for the byte that the handler writes. */
static int wait_for_it(int way, int set, const sigset_t *mask)
{
    const struct timespec time = {WATCHDOG, 0};
    struct pollfd one = {.fd = ends[0], .events = POLLIN};
    struct epoll_event event;
    fd_set readable;
    FD_ZERO(&readable);
    FD_SET(ends[0], &readable);
    switch (way) {
    case 0:
        return ppoll(&one, 1, &time, mask);
    case 1:
        return pselect(ends[0] + 1, &readable, NULL, NULL, &time, mask);
    default:
        return epoll_pwait(set, &event, 1, WATCHDOG * 1000, mask);
    }
}

int main(void)
{
    sigset_t mask, before;
    struct epoll_event event = {.events = EPOLLIN};
    char byte;
    watch();
    signal(SIGUSR1, note);
    OK(pipe(ends));
    int set = epoll_create1(0);
    OK(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event));
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    OK(pthread_sigmask(SIG_BLOCK, &mask, &before));
    for (int way = 0; way < 3; way++) {
        pthread_t sender = start(send_one, NULL);
        int result = wait_for_it(way, set, &before);
        CHECK(result == 1 || (result == -1 && errno == EINTR));
        IS(handled, way + 1);
        IS(read(ends[0], &byte, 1), 1);
        finish(sender);
        /* It has been blocked again. */
        OK(kill(getpid(), SIGUSR1));
        let_block();
        IS(handled, way + 1);
        IS(sigtimedwait(&mask, NULL, &(struct timespec){0, 0}), SIGUSR1);
    }
    return 0;
}
