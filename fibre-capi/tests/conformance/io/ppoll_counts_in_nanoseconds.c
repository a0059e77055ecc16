/* ppoll: 0 after at least the time-out; without one it waits; EINVAL for nanoseconds out of range. */
#include "../check.h"

#include <poll.h>

static int ends[2];

static void *write_later(void *unused)
{
    let_block();
    IS(write(ends[1], "x", 1), 1);
    return unused;
}

static void test(void)
{
    OK(pipe(ends));
    struct pollfd one = {.fd = ends[0], .events = POLLIN};
    struct timespec time = {0, 15000000}, until = in_ms(CLOCK_MONOTONIC, 15);
    IS(ppoll(&one, 1, &time, NULL), 0);
    CHECK(is_past(CLOCK_MONOTONIC, until));
    time.tv_nsec = 1000000000;
    FAILS(ppoll(&one, 1, &time, NULL), EINVAL);
    pthread_t thread = start(write_later, NULL);
    IS(ppoll(&one, 1, NULL, NULL), 1);
    finish(thread);
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
