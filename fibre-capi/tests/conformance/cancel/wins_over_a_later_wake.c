/* pthread_cancel, read, recv, poll, select, epoll_wait, sem_wait, pthread_cond_wait, pthread_join, sigwait: a thread that is cancelled
 * in one of them ends, though what it waits for comes afterwards. */
/* only: ours */
/* with: FIBRE_PROCESSORS=1 */
/* flags: -DFIBRE_MAIN */
#include "table.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>

/* How many calls there are. */
#define CALLS 10

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int ends[2], events;
static sem_t permit, last;
static sigset_t set;
static pthread_t other;
static atomic_int waiting;

static void *wait_for_the_last(void *unused)
{
    AWAIT(sem_trywait(&last) == 0);
    return unused;
}

static int turn(int number)
{
    char byte;
    int signal;
    fd_set descriptors;
    struct epoll_event found;
    struct pollfd asked = {ends[0], POLLIN, 0};
    FD_ZERO(&descriptors);
    FD_SET(ends[0], &descriptors);
    OK(pthread_mutex_lock(&mutex));
    if (number != 6)
        OK(pthread_mutex_unlock(&mutex));
    waiting = 1;
    TRY(read(ends[0], &byte, 1));
    TRY(recv(ends[0], &byte, 1, 0));
    TRY(poll(&asked, 1, -1));
    TRY(select(ends[0] + 1, &descriptors, NULL, NULL, NULL));
    TRY(epoll_wait(events, &found, 1, -1));
    TRY(sem_wait(&permit));
    TRY(pthread_cond_wait(&cond, &mutex));
    TRY(pthread_join(other, NULL));
    TRY(sigwait(&set, &signal));
    TRY(recvfrom(ends[0], &byte, 1, 0, NULL, NULL));
    return 0;
}

static void unlock(void *unused)
{
    (void)unused;
    pthread_mutex_unlock(&mutex);
}

static void *wait_in(void *number)
{
    int which = *(int *)number, made;
    pthread_cleanup_push(unlock, NULL);
    made = turn(which);
    pthread_cleanup_pop(0);
    return made ? "goes on" : NULL;
}

/* Makes call number `number` in a thread that is cancelled, at once or when it waits, before what it waits for comes; returns how that ended. */
static void *cancel_in(int number, int waits)
{
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    struct epoll_event asked = {.events = EPOLLIN};
    CHECK((events = epoll_create1(0)) >= 0);
    OK(epoll_ctl(events, EPOLL_CTL_ADD, ends[0], &asked));
    OK(sem_init(&permit, 0, 0));
    OK(sem_init(&last, 0, 0));
    other = start(wait_for_the_last, NULL);
    waiting = 0;
    pthread_t thread = start(wait_in, &number);
    AWAIT(waiting);
    if (waits)
        let_block();
    OK(pthread_cancel(thread));
    IS(write(ends[1], "x", 1), 1);
    OK(sem_post(&permit));
    OK(pthread_mutex_trylock(&mutex) == EBUSY ? 0 : pthread_mutex_unlock(&mutex));
    OK(pthread_cond_broadcast(&cond));
    OK(sem_post(&last));
    OK(kill(getpid(), SIGUSR1));
    void *ending = finish(thread);
    finish(other);
    struct timespec at_once = {0, 0};
    IS(sigtimedwait(&set, NULL, &at_once), SIGUSR1);
    OK(close(ends[0]) | close(ends[1]) | close(events));
    return ending;
}

static void test(void)
{
    for (int round = 0; round < 20; round++)
        for (int number = 0; number < CALLS; number++)
            if (cancel_in(number, round % 2) != PTHREAD_CANCELED)
                failed(__FILE__, number, what, result, result);
}

int main(void)
{
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    return on_both(test);
}
