/* poll: returns when one of the descriptors becomes ready, and can wait for the same ones again. */
#include "../check.h"

#include <poll.h>

static int ends[2][2];

static void *write_later(void *number)
{
    let_block();
    IS(write(ends[(intptr_t)number][1], "x", 1), 1);
    return NULL;
}

static void test(void)
{
    OK(pipe(ends[0]));
    OK(pipe(ends[1]));
    for (intptr_t i = 0; i < 6; i++) {
        char byte;
        struct pollfd both[2] = {{.fd = ends[0][0], .events = POLLIN}, {.fd = ends[1][0], .events = POLLIN}};
        pthread_t thread = start(write_later, (void *)(i % 2));
        IS(poll(both, 2, -1), 1);
        IS(both[i % 2].revents, POLLIN);
        IS(both[1 - i % 2].revents, 0);
        IS(poll(both, 2, -1), 1);
        IS(read(ends[i % 2][0], &byte, 1), 1);
        IS(poll(both, 2, 0), 0);
        finish(thread);
    }
    for (int i = 0; i < 4; i++)
        OK(close(ends[i / 2][i % 2]));
}

int main(void)
{
    return on_both(test);
}
