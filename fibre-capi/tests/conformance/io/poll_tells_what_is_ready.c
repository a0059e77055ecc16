/* poll: the number of descriptors with events: POLLIN, POLLOUT, POLLHUP, and POLLNVAL for closed ones; negative ones are left out. */
#include "../check.h"

#include <poll.h>

static void test(void)
{
    int ends[2];
    OK(pipe(ends));
    struct pollfd some[4] = {{.fd = ends[0], .events = POLLIN},
                             {.fd = ends[1], .events = POLLOUT},
                             {.fd = -1, .events = POLLIN, .revents = 77},
                             {.fd = 1000, .events = POLLIN}};
    IS(poll(some, 4, -1), 2);
    IS(some[0].revents, 0);
    IS(some[1].revents, POLLOUT);
    IS(some[2].revents, 0);
    IS(some[3].revents, POLLNVAL);
    IS(write(ends[1], "x", 1), 1);
    IS(poll(some, 2, -1), 2);
    IS(some[0].revents, POLLIN);
    OK(close(ends[1]));
    IS(poll(some, 1, -1), 1);
    IS(some[0].revents, POLLIN | POLLHUP);
    OK(close(ends[0]));
}

int main(void)
{
    return on_both(test);
}
