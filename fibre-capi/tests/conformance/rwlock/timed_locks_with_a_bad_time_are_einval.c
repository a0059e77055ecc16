/* pthread_rwlock_timedrdlock, pthread_rwlock_timedwrlock: EINVAL if the caller would have to wait and the nanoseconds are out of range. */
#include "../check.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *wait_for_it(void *unused)
{
    struct timespec at = bad_time(CLOCK_REALTIME);
    IS(pthread_rwlock_timedrdlock(&lock, &at), EINVAL);
    IS(pthread_rwlock_timedwrlock(&lock, &at), EINVAL);
    at.tv_nsec = -1;
    IS(pthread_rwlock_timedrdlock(&lock, &at), EINVAL);
    IS(pthread_rwlock_timedwrlock(&lock, &at), EINVAL);
    return unused;
}

static void test(void)
{
    OK(pthread_rwlock_wrlock(&lock));
    finish(start(wait_for_it, NULL));
    OK(pthread_rwlock_unlock(&lock));
}

int main(void)
{
    return on_both(test);
}
