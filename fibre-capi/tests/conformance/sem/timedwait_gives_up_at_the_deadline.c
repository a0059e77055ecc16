/* sem_timedwait: -1 with ETIMEDOUT at the deadline of the realtime clock, not before. */
#include "../check.h"

static void test(void)
{
    sem_t sem;
    int value = -1;
    OK(sem_init(&sem, 0, 0));
    struct timespec soon = in_ms(CLOCK_REALTIME, 30);
    FAILS(sem_timedwait(&sem, &soon), ETIMEDOUT);
    CHECK(is_past(CLOCK_REALTIME, soon));
    FAILS(sem_timedwait(&sem, &soon), ETIMEDOUT);
    OK(sem_getvalue(&sem, &value));
    IS(value, 0);
    OK(sem_destroy(&sem));
}

int main(void)
{
    return on_both(test);
}
