/* pthread_timedjoin_np: EINVAL if the caller would have to wait and the nanoseconds are out of range. */
#include "../check.h"

static atomic_int release;

static void *linger(void *value)
{
    AWAIT(release);
    return value;
}

static void test(void)
{
    release = 0;
    pthread_t thread = start(linger, NULL);
    struct timespec at = bad_time(CLOCK_REALTIME);
    IS(pthread_timedjoin_np(thread, NULL, &at), EINVAL);
    at.tv_nsec = -1;
    IS(pthread_timedjoin_np(thread, NULL, &at), EINVAL);
    release = 1;
    finish(thread);
}

int main(void)
{
    return on_both(test);
}
