/* poll, select: cancellation points, with and without a time-out. */
#include "../check.h"

#include <poll.h>
#include <sys/select.h>

static int ends[2];
static atomic_int waiting;

static void *run(void *number)
{
    struct pollfd one = {.fd = ends[0], .events = POLLIN};
    struct timeval time = {WATCHDOG, 0};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    waiting++;
    switch ((intptr_t)number) {
    case 0:
        IS(poll(&one, 1, -1), 77);
        break;
    case 1:
        IS(poll(&one, 1, WATCHDOG * 1000), 77);
        break;
    case 2:
        IS(select(ends[0] + 1, &set, NULL, NULL, NULL), 77);
        break;
    default:
        IS(select(ends[0] + 1, &set, NULL, NULL, &time), 77);
    }
    return number;
}

static void test(void)
{
    pthread_t threads[4];
    waiting = 0;
    OK(pipe(ends));
    for (intptr_t i = 0; i < 4; i++)
        threads[i] = start(run, (void *)i);
    AWAIT(waiting == 4);
    let_block();
    for (int i = 0; i < 4; i++)
        OK(pthread_cancel(threads[i]));
    for (int i = 0; i < 4; i++)
        CHECK(finish(threads[i]) == PTHREAD_CANCELED);
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void) { return on_both(test); }
