/* pthread_cond_timedwait, pthread_cond_clockwait: EINVAL for nanoseconds out of range; the mutex stays locked. */
#include "../check.h"

static void test(void)
{
    pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    struct timespec at = bad_time(CLOCK_REALTIME);
    OK(pthread_mutex_lock(&mutex));
    IS(pthread_cond_timedwait(&cond, &mutex, &at), EINVAL);
    at.tv_nsec = -1;
    IS(pthread_cond_timedwait(&cond, &mutex, &at), EINVAL);
    IS(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &at), EINVAL);
    IS(pthread_mutex_lock(&mutex), EDEADLK);
    OK(pthread_mutex_unlock(&mutex));
}

int main(void)
{
    return on_both(test);
}
