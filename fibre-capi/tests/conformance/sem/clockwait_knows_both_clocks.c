/* sem_clockwait: -1 with ETIMEDOUT at the deadline of the clock that is named; EINVAL for other clocks. */
#include "../check.h"

static void test(void)
{
    static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME};
    sem_t sem;
    OK(sem_init(&sem, 0, 0));
    for (int i = 0; i < 2; i++) {
        struct timespec soon = in_ms(clocks[i], 20);
        FAILS(sem_clockwait(&sem, clocks[i], &soon), ETIMEDOUT);
        CHECK(is_past(clocks[i], soon));
    }
    struct timespec soon = in_ms(CLOCK_REALTIME, 20);
    FAILS(sem_clockwait(&sem, CLOCK_PROCESS_CPUTIME_ID, &soon), EINVAL);
    OK(sem_destroy(&sem));
}

int main(void)
{
    return on_both(test);
}
