/* pthread_mutex_clocklock: ETIMEDOUT at the deadline of the clock that is named; EINVAL for other clocks. */
#include "../check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *wait_for_it(void *unused)
{
    static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME};
    for (int i = 0; i < 2; i++) {
        struct timespec soon = in_ms(clocks[i], 20);
        IS(pthread_mutex_clocklock(&mutex, clocks[i], &soon), ETIMEDOUT);
        CHECK(is_past(clocks[i], soon));
    }
    struct timespec soon = in_ms(CLOCK_REALTIME, 20);
    IS(pthread_mutex_clocklock(&mutex, CLOCK_PROCESS_CPUTIME_ID, &soon), EINVAL);
    return unused;
}

static void test(void)
{
    OK(pthread_mutex_lock(&mutex));
    finish(start(wait_for_it, NULL));
    OK(pthread_mutex_unlock(&mutex));
    struct timespec past = in_ms(CLOCK_MONOTONIC, -1);
    OK(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &past));
    OK(pthread_mutex_unlock(&mutex));
}

int main(void)
{
    return on_both(test);
}
