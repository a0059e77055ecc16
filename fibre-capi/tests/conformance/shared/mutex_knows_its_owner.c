/* pthread_mutexattr_setpshared, pthread_mutex_trylock, pthread_mutex_unlock: error-checking and recursive mutexes of several processes know the thread that has them, whatever it waits for meanwhile. */
#include "shared.h"

static pthread_mutex_t *mutex;
static atomic_int phase;

static void *other(void *unused)
{
    IS(pthread_mutex_trylock(mutex), EBUSY);
    IS(pthread_mutex_unlock(mutex), EPERM);
    struct timespec soon = in_ms(CLOCK_REALTIME, 5);
    IS(pthread_mutex_timedlock(mutex, &soon), ETIMEDOUT);
    phase = 1;
    OK(pthread_mutex_lock(mutex));
    OK(pthread_mutex_unlock(mutex));
    return unused;
}

/* Lets the others run, for a while. */
static void move_about(void)
{
    for (int i = 0; i < 50; i++)
        sched_yield();
    let_block();
}

static void *busy(void *unused)
{
    while (phase != 2)
        sched_yield();
    return unused;
}

static void with(int type)
{
    pthread_t threads[3];
    phase = 0;
    init_mutex(mutex, type, PTHREAD_MUTEX_STALLED);
    OK(pthread_mutex_lock(mutex));
    for (int i = 0; i < 2; i++)
        threads[i] = start(busy, NULL);
    threads[2] = start(other, NULL);
    move_about();
    int again = type == PTHREAD_MUTEX_RECURSIVE ? 0 : EDEADLK;
    IS(pthread_mutex_lock(mutex), again);
    move_about();
    IS(pthread_mutex_trylock(mutex), again ? EBUSY : 0);
    AWAIT(phase);
    if (!again) {
        OK(pthread_mutex_unlock(mutex));
        move_about();
        OK(pthread_mutex_unlock(mutex));
    }
    IS(pthread_mutex_destroy(mutex), EBUSY);
    OK(pthread_mutex_unlock(mutex));
    IS(pthread_mutex_unlock(mutex), EPERM);
    phase = 2;
    for (int i = 0; i < 3; i++)
        finish(threads[i]);
    OK(pthread_mutex_destroy(mutex));
}

static void test(void)
{
    mutex = share(sizeof *mutex);
    with(PTHREAD_MUTEX_ERRORCHECK);
    with(PTHREAD_MUTEX_RECURSIVE);
}

int main(void)
{
    return on_both(test);
}
