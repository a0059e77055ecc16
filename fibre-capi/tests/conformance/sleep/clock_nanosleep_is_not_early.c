/* clock_nanosleep: with either clock returns 0 after at least the time asked for. */
#include "../check.h"

static void test(void)
{
    static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_REALTIME};
    for (int i = 0; i < 2; i++) {
        struct timespec until = in_ms(CLOCK_MONOTONIC, 15);
        struct timespec nap = {0, 15000000};
        OK(clock_nanosleep(clocks[i], 0, &nap, NULL));
        CHECK(is_past(CLOCK_MONOTONIC, until));
    }
}

int main(void)
{
    return on_both(test);
}
