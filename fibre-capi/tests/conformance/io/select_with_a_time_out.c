/* select, pselect: 0 with empty sets after at least the time-out; without descriptors it is a sleep. */
#include "../check.h"

#include <sys/select.h>

static void test(void)
{
    int ends[2];
    fd_set set;
    struct timeval time = {0, 20000};
    struct timespec nap = {0, 20000000};
    OK(pipe(ends));
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    struct timespec until = in_ms(CLOCK_MONOTONIC, 20);
    IS(select(ends[0] + 1, &set, NULL, NULL, &time), 0);
    CHECK(is_past(CLOCK_MONOTONIC, until));
    CHECK(!FD_ISSET(ends[0], &set));
    time = (struct timeval){0, 20000};
    until = in_ms(CLOCK_MONOTONIC, 20);
    IS(select(0, NULL, NULL, NULL, &time), 0);
    CHECK(is_past(CLOCK_MONOTONIC, until));
    FD_SET(ends[0], &set);
    until = in_ms(CLOCK_MONOTONIC, 20);
    IS(pselect(ends[0] + 1, &set, NULL, NULL, &nap, NULL), 0);
    CHECK(is_past(CLOCK_MONOTONIC, until));
    CHECK(!FD_ISSET(ends[0], &set));
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
