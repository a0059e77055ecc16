/* sem_timedwait: does not look at the time if the value is above 0. */
#include "../check.h"

static void test(void)
{
    sem_t sem;
    OK(sem_init(&sem, 0, 2));
    struct timespec past = in_ms(CLOCK_REALTIME, -1000);
    OK(sem_timedwait(&sem, &past));
    OK(sem_clockwait(&sem, CLOCK_MONOTONIC, &past));
    FAILS(sem_timedwait(&sem, &past), ETIMEDOUT);
    OK(sem_destroy(&sem));
}

int main(void)
{
    return on_both(test);
}
