/* sem_post: may be called by a handler that interrupts calls on the same semaphore; no permit is lost. */
#include "../check.h"

static sem_t sem;
static volatile sig_atomic_t posts;

static void post_it(int signal)
{
    (void)signal;
    int kept = errno;
    OK(sem_post(&sem));
    posts++;
    errno = kept;
}

int main(void)
{
    watch();
    OK(sem_init(&sem, 0, 0));
    signal(SIGUSR1, post_it);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec often = {{0, 100000}, {0, 100000}};
    timer_t timer;
    OK(timer_create(CLOCK_MONOTONIC, &event, &timer));
    OK(timer_settime(timer, 0, &often, NULL));
    long taken = 0;
    while (posts < 300) {
        OK(sem_post(&sem));
        while (sem_wait(&sem) != 0)
            CHECK(errno == EINTR);
        struct timespec now = in_ms(CLOCK_REALTIME, 0);
        taken += sem_timedwait(&sem, &now) == 0;
        taken += sem_trywait(&sem) == 0;
    }
    OK(timer_delete(timer));
    while (sem_trywait(&sem) == 0)
        taken++;
    IS(taken, posts);
    OK(sem_destroy(&sem));
    return 0;
}
