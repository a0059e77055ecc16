/* ppoll, pselect, epoll_pwait, pthread_cancel, kill: a signal that only the mask of such a wait lets in is handled, though the wait ends at once; and one
 * that only a thread lets in, though that is cancelled. */
/* flags: -O2 */
/* flags: -DFIBRE_MAIN */
#include "../check.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>

static atomic_int handled;
static sem_t ready;
static sigset_t set, nothing;
static int ends[2], events;

static void handle(int signal)
{
    (void)signal;
    handled++;
}

/* Lets the signal in while it waits. */
static void *wait_for_a_byte(void *way)
{
    struct pollfd asked = {ends[0], POLLIN, 0};
    struct epoll_event found;
    fd_set descriptors;
    FD_ZERO(&descriptors);
    FD_SET(ends[0], &descriptors);
    if ((intptr_t)way == 3)
        OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
    OK(sem_post(&ready));
    while ((intptr_t)way == 3)
        sleep(1000);
    int count = (intptr_t)way == 0   ? ppoll(&asked, 1, NULL, &nothing)
                : (intptr_t)way == 1 ? pselect(ends[0] + 1, &descriptors, NULL, NULL, NULL, &nothing)
                                     : epoll_pwait(events, &found, 1, -1, &nothing);
    if (count < 0)
        IS(errno, EINTR);
    return way;
}

static void test(void)
{
    char byte;
    for (intptr_t turn = 0; turn < 120; turn++) {
        int before = handled;
        pthread_t thread = start(wait_for_a_byte, (void *)(turn % 4));
        OK(sem_wait(&ready));
        if (turn % 8 < 4)
            let_block();
        OK(kill(getpid(), SIGUSR1));
        if (turn % 4 == 3)
            OK(pthread_cancel(thread));
        IS(write(ends[1], "x", 1), 1);
        finish(thread);
        AWAIT(handled == before + 1);
        IS(read(ends[0], &byte, 1), 1);
    }
}

int main(void)
{
    sigemptyset(&nothing);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    signal(SIGUSR1, handle);
    OK(pipe(ends));
    struct epoll_event asked = {.events = EPOLLIN};
    CHECK((events = epoll_create1(0)) >= 0);
    OK(epoll_ctl(events, EPOLL_CTL_ADD, ends[0], &asked));
    OK(sem_init(&ready, 0, 0));
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    return on_both(test);
}
