/* pthread_cond_timedwait, pthread_cond_clockwait, pthread_condattr_setpshared: ETIMEDOUT with the mutex locked, by the clock of the attributes or the given one; EPERM without an error-checking mutex. */
#include "shared.h"

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
} *all;

static void with(int type)
{
    init_mutex(&all->mutex, type, PTHREAD_MUTEX_STALLED);
    init_cond(&all->cond, CLOCK_MONOTONIC);
    OK(pthread_mutex_lock(&all->mutex));
    struct timespec at = in_ms(CLOCK_MONOTONIC, 10), bad = bad_time(CLOCK_MONOTONIC);
    IS(pthread_cond_timedwait(&all->cond, &all->mutex, &at), ETIMEDOUT);
    CHECK(is_past(CLOCK_MONOTONIC, at));
    IS(pthread_mutex_trylock(&all->mutex), EBUSY);
    at = in_ms(CLOCK_REALTIME, 10);
    IS(pthread_cond_clockwait(&all->cond, &all->mutex, CLOCK_REALTIME, &at), ETIMEDOUT);
    CHECK(is_past(CLOCK_REALTIME, at));
    IS(pthread_cond_timedwait(&all->cond, &all->mutex, &bad), EINVAL);
    OK(pthread_mutex_unlock(&all->mutex));
    if (type == PTHREAD_MUTEX_ERRORCHECK)
        IS(pthread_cond_timedwait(&all->cond, &all->mutex, &at), EPERM);
    OK(pthread_cond_destroy(&all->cond));
    OK(pthread_mutex_destroy(&all->mutex));
}

static void test(void)
{
    all = share(sizeof *all);
    with(PTHREAD_MUTEX_NORMAL);
    with(PTHREAD_MUTEX_ERRORCHECK);
}

int main(void)
{
    return on_both(test);
}
