/* pthread_mutex_timedlock, pthread_mutex_clocklock: EINVAL if the caller would have to wait and the nanoseconds are out of range. */
#include "../check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *wait_for_it(void *unused)
{
    struct timespec at = bad_time(CLOCK_REALTIME);
    IS(pthread_mutex_timedlock(&mutex, &at), EINVAL);
    at.tv_nsec = -1;
    IS(pthread_mutex_timedlock(&mutex, &at), EINVAL);
    IS(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &at), EINVAL);
    return unused;
}

static void test(void)
{
    OK(pthread_mutex_lock(&mutex));
    finish(start(wait_for_it, NULL));
    OK(pthread_mutex_unlock(&mutex));
}

int main(void)
{
    return on_both(test);
}
