/* pthread_rwlock_clockrdlock, pthread_rwlock_clockwrlock: the deadline is of the clock that is named; EINVAL for other clocks. */
#include "../check.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *wait_for_it(void *unused)
{
    static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME};
    for (int i = 0; i < 2; i++) {
        struct timespec soon = in_ms(clocks[i], 15);
        IS(pthread_rwlock_clockrdlock(&lock, clocks[i], &soon), ETIMEDOUT);
        CHECK(is_past(clocks[i], soon));
        soon = in_ms(clocks[i], 15);
        IS(pthread_rwlock_clockwrlock(&lock, clocks[i], &soon), ETIMEDOUT);
        CHECK(is_past(clocks[i], soon));
    }
    struct timespec soon = in_ms(CLOCK_REALTIME, 15);
    IS(pthread_rwlock_clockrdlock(&lock, CLOCK_PROCESS_CPUTIME_ID, &soon), EINVAL);
    IS(pthread_rwlock_clockwrlock(&lock, CLOCK_PROCESS_CPUTIME_ID, &soon), EINVAL);
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
