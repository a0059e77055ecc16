/* sleep, usleep, nanosleep, clock_nanosleep: cancellation points. */
#include "../check.h"

static atomic_int sleeping;

static void *run(void *number)
{
    struct timespec nap = {WATCHDOG, 0};
    sleeping++;
    switch ((intptr_t)number) {
    case 0:
        sleep(WATCHDOG);
        break;
    case 1:
        usleep(WATCHDOG * 1000000U);
        break;
    case 2:
        nanosleep(&nap, NULL);
        break;
    default:
        clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
    }
    return number;
}

static void test(void)
{
    pthread_t threads[4];
    sleeping = 0;
    for (intptr_t i = 0; i < 4; i++)
        threads[i] = start(run, (void *)i);
    AWAIT(sleeping == 4);
    let_block();
    for (int i = 0; i < 4; i++)
        OK(pthread_cancel(threads[i]));
    for (int i = 0; i < 4; i++)
        CHECK(finish(threads[i]) == PTHREAD_CANCELED);
}

int main(void)
{
    return on_both(test);
}
