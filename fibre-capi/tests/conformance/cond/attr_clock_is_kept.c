/* pthread_condattr_setclock, pthread_condattr_getclock: what was set is got; realtime by default; EINVAL for CPU-time clocks. */
#include "../check.h"

static void test(void)
{
    pthread_condattr_t attr;
    clockid_t clock = -1;
    OK(pthread_condattr_init(&attr));
    OK(pthread_condattr_getclock(&attr, &clock));
    IS(clock, CLOCK_REALTIME);
    OK(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
    OK(pthread_condattr_getclock(&attr, &clock));
    IS(clock, CLOCK_MONOTONIC);
    IS(pthread_condattr_setclock(&attr, CLOCK_PROCESS_CPUTIME_ID), EINVAL);
    IS(pthread_condattr_setclock(&attr, CLOCK_THREAD_CPUTIME_ID), EINVAL);
    OK(pthread_condattr_getclock(&attr, &clock));
    IS(clock, CLOCK_MONOTONIC);
    OK(pthread_condattr_setclock(&attr, CLOCK_REALTIME));
    OK(pthread_condattr_getclock(&attr, &clock));
    IS(clock, CLOCK_REALTIME);
    OK(pthread_condattr_destroy(&attr));
}

int main(void)
{
    return on_both(test);
}
