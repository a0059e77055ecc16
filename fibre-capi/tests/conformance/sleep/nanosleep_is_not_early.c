/* nanosleep: returns 0 after at least the time asked for. */
#include "../check.h"

static void test(void)
{
    static const long naps[] = {0, 1, 1000000, 25000000};
    for (int i = 0; i < 4; i++) {
        struct timespec nap = {0, naps[i]};
        struct timespec begin = in_ms(CLOCK_MONOTONIC, naps[i] / 1000000);
        OK(nanosleep(&nap, NULL));
        CHECK(is_past(CLOCK_MONOTONIC, begin));
    }
}

int main(void)
{
    return on_both(test);
}
