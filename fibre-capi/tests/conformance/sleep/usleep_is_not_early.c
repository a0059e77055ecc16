/* usleep: returns 0 after at least the time asked for. */
#include "../check.h"

static void test(void)
{
    struct timespec until = in_ms(CLOCK_MONOTONIC, 20);
    OK(usleep(20000));
    CHECK(is_past(CLOCK_MONOTONIC, until));
    OK(usleep(0));
}

int main(void)
{
    return on_both(test);
}
