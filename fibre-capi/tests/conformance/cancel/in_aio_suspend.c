/* pthread_cancel, aio_suspend: a thread that waits for an operation ends there when it is cancelled, with and without a time-out. */
#include "../check.h"

#include <aio.h>

static struct aiocb operation;

static void *without_time_out(void *unused)
{
    const struct aiocb *list[] = {&operation};
    aio_suspend(list, 1, NULL);
    return unused;
}

static void *with_time_out(void *unused)
{
    const struct aiocb *list[] = {&operation};
    struct timespec hour = {3600, 0};
    aio_suspend(list, 1, &hour);
    return unused;
}

static void test(void)
{
    int ends[2];
    char byte;
    OK(pipe(ends));
    operation = (struct aiocb){.aio_fildes = ends[0], .aio_buf = &byte, .aio_nbytes = 1};
    OK(aio_read(&operation));
    for (int i = 0; i < 4; i++) {
        pthread_t thread = start(i % 2 ? with_time_out : without_time_out, NULL);
        if (i >= 2)
            until_all_block();
        OK(pthread_cancel(thread));
        CHECK(finish(thread) == PTHREAD_CANCELED);
    }
    /* It goes on, and others can wait for it, for so long or as long as it takes. */
    const struct aiocb *list[] = {&operation};
    struct timespec moment = {0, 1000000};
    FAILS(aio_suspend(list, 1, &moment), EAGAIN);
    IS(write(ends[1], "x", 1), 1);
    OK(aio_suspend(list, 1, NULL));
    IS(aio_return(&operation), 1);
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
