/* sem_timedwait, sem_clockwait: -1 with EINVAL if the caller would have to wait and the nanoseconds are out of range. */
#include "../check.h"

static void test(void)
{
    sem_t sem;
    OK(sem_init(&sem, 0, 0));
    struct timespec at = bad_time(CLOCK_REALTIME);
    FAILS(sem_timedwait(&sem, &at), EINVAL);
    FAILS(sem_clockwait(&sem, CLOCK_MONOTONIC, &at), EINVAL);
    at.tv_nsec = -1;
    FAILS(sem_timedwait(&sem, &at), EINVAL);
    FAILS(sem_clockwait(&sem, CLOCK_MONOTONIC, &at), EINVAL);
    OK(sem_destroy(&sem));
}

int main(void)
{
    return on_both(test);
}
