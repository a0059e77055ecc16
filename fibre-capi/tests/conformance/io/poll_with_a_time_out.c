/* poll: 0 after at least the time-out, at once for 0; without descriptors it is a sleep. */
#include "../check.h"

#include <poll.h>

static void test(void)
{
    int ends[2];
    OK(pipe(ends));
    struct pollfd one = {.fd = ends[0], .events = POLLIN, .revents = 77};
    IS(poll(&one, 1, 0), 0);
    IS(one.revents, 0);
    struct timespec until = in_ms(CLOCK_MONOTONIC, 20);
    IS(poll(&one, 1, 20), 0);
    CHECK(is_past(CLOCK_MONOTONIC, until));
    until = in_ms(CLOCK_MONOTONIC, 20);
    IS(poll(NULL, 0, 20), 0);
    CHECK(is_past(CLOCK_MONOTONIC, until));
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
