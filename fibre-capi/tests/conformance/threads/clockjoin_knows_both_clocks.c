/* pthread_clockjoin_np: ETIMEDOUT at the deadline of the clock that is named; EINVAL for other clocks. */
#include "../check.h"

static atomic_int release;

static void *linger(void *value)
{
    AWAIT(release);
    return value;
}

static void test(void)
{
    static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME};
    release = 0;
    pthread_t thread = start(linger, (void *)7);
    for (int i = 0; i < 2; i++) {
        struct timespec soon = in_ms(clocks[i], 15);
        IS(pthread_clockjoin_np(thread, NULL, clocks[i], &soon), ETIMEDOUT);
        CHECK(is_past(clocks[i], soon));
    }
    struct timespec soon = in_ms(CLOCK_REALTIME, 15);
    IS(pthread_clockjoin_np(thread, NULL, CLOCK_PROCESS_CPUTIME_ID, &soon), EINVAL);
    release = 1;
    IS((intptr_t)finish(thread), 7);
}

int main(void)
{
    return on_both(test);
}
