/* nanosleep: while a thread sleeps, others go on. */
#include "../check.h"

static atomic_int woken, turns, gone_on;

static void *nap(void *unused)
{
    struct timespec time = {0, 20000000};
    AWAIT(turns > 0);
    /* In one of many sleeps, if there are others who need the CPUs. */
    for (int i = 0; i < 200 && !gone_on; i++) {
        int before = turns;
        OK(nanosleep(&time, NULL));
        gone_on = turns > before;
    }
    woken = 1;
    return unused;
}

static void test(void)
{
    woken = turns = gone_on = 0;
    pthread_t thread = start(nap, NULL);
    while (!woken) {
        turns++;
        sched_yield();
    }
    finish(thread);
    CHECK(gone_on);
}

int main(void)
{
    return on_both(test);
}
