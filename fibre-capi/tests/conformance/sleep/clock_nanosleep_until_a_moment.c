/* clock_nanosleep: with TIMER_ABSTIME returns 0 at the moment named, at once if that is past. */
#include "../check.h"

static void test(void)
{
    static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME};
    for (int i = 0; i < 2; i++) {
        struct timespec until = in_ms(clocks[i], 20);
        OK(clock_nanosleep(clocks[i], TIMER_ABSTIME, &until, NULL));
        CHECK(is_past(clocks[i], until));
        struct timespec past = in_ms(clocks[i], -1000);
        OK(clock_nanosleep(clocks[i], TIMER_ABSTIME, &past, NULL));
    }
}

int main(void)
{
    return on_both(test);
}
