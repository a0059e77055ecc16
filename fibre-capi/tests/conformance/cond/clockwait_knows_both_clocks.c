/* pthread_cond_clockwait: ETIMEDOUT at the deadline of the clock that is named; EINVAL for other clocks. */
#include "../check.h"

static void test(void)
{
    static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME};
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    OK(pthread_mutex_lock(&mutex));
    for (int i = 0; i < 2; i++) {
        struct timespec soon = in_ms(clocks[i], 20);
        int result;
        while ((result = pthread_cond_clockwait(&cond, &mutex, clocks[i], &soon)) == 0)
            ;
        IS(result, ETIMEDOUT);
        CHECK(is_past(clocks[i], soon));
    }
    struct timespec soon = in_ms(CLOCK_REALTIME, 20);
    IS(pthread_cond_clockwait(&cond, &mutex, CLOCK_PROCESS_CPUTIME_ID, &soon), EINVAL);
    OK(pthread_mutex_unlock(&mutex));
}

int main(void)
{
    return on_both(test);
}
