/* pthread_rwlock_timedrdlock, pthread_rwlock_timedwrlock: ETIMEDOUT at the deadline of the realtime clock, not before. */
#include "../check.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *wait_for_it(void *unused)
{
    struct timespec soon = in_ms(CLOCK_REALTIME, 20);
    IS(pthread_rwlock_timedrdlock(&lock, &soon), ETIMEDOUT);
    CHECK(is_past(CLOCK_REALTIME, soon));
    soon = in_ms(CLOCK_REALTIME, 20);
    IS(pthread_rwlock_timedwrlock(&lock, &soon), ETIMEDOUT);
    CHECK(is_past(CLOCK_REALTIME, soon));
    return unused;
}

static void test(void)
{
    OK(pthread_rwlock_wrlock(&lock));
    finish(start(wait_for_it, NULL));
    OK(pthread_rwlock_unlock(&lock));
    struct timespec past = in_ms(CLOCK_REALTIME, -1000);
    OK(pthread_rwlock_timedrdlock(&lock, &past));
    OK(pthread_rwlock_unlock(&lock));
    OK(pthread_rwlock_timedwrlock(&lock, &past));
    OK(pthread_rwlock_unlock(&lock));
}

int main(void)
{
    return on_both(test);
}
