/* clock_nanosleep: EINVAL, returned and not in errno, for a bad time or clock. */
#include "../check.h"

static void test(void)
{
    struct timespec nap = {0, 1000000000};
    errno = 0;
    IS(clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL), EINVAL);
    nap.tv_nsec = -1;
    IS(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &nap, NULL), EINVAL);
    nap.tv_nsec = 1;
    IS(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &nap, NULL), EINVAL);
    IS(clock_nanosleep(12345, 0, &nap, NULL), EINVAL);
    IS(errno, 0);
}

int main(void)
{
    return on_both(test);
}
