/* pthread_mutex_timedlock, pthread_mutex_clocklock, pthread_mutexattr_setpshared: ETIMEDOUT while another process has the mutex; EINVAL for a time that is none. */
#include "shared.h"

static struct {
    pthread_mutex_t mutex;
    atomic_int held, enough;
} *all;

static void hold(void)
{
    OK(PLAIN(pthread_mutex_lock)(&all->mutex));
    all->held = 1;
    UNTIL(all->enough);
    OK(PLAIN(pthread_mutex_unlock)(&all->mutex));
}

static void test(void)
{
    struct timespec at = in_ms(CLOCK_REALTIME, 10), bad = bad_time(CLOCK_REALTIME);
    IS(pthread_mutex_timedlock(&all->mutex, &at), ETIMEDOUT);
    CHECK(is_past(CLOCK_REALTIME, at));
    IS(pthread_mutex_timedlock(&all->mutex, &bad), EINVAL);
    at = in_ms(CLOCK_MONOTONIC, 10);
    IS(pthread_mutex_clocklock(&all->mutex, CLOCK_MONOTONIC, &at), ETIMEDOUT);
    CHECK(is_past(CLOCK_MONOTONIC, at));
    IS(pthread_mutex_trylock(&all->mutex), EBUSY);
}

int main(void)
{
    watch();
    all = share(sizeof *all);
    init_mutex(&all->mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED);
    pid_t holder = child(hold);
    UNTIL(all->held);
    on_both(test);
    all->enough = 1;
    struct timespec late = in_ms(CLOCK_REALTIME, 20000);
    OK(pthread_mutex_timedlock(&all->mutex, &late));
    OK(pthread_mutex_unlock(&all->mutex));
    reap(holder);
    return 0;
}
