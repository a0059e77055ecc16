/* nanosleep: while a thread sleeps, others go on. */
#include "../check.h"

static atomic_int woken, turns;

static void *nap(void *unused)
{
    struct timespec time = {0, 20000000};
    OK(nanosleep(&time, NULL));
    woken = 1;
    return unused;
}

static void test(void)
{
    woken = turns = 0;
    pthread_t thread = start(nap, NULL);
    while (!woken) {
        turns++;
        sched_yield();
    }
    CHECK(turns > 1);
    finish(thread);
}

int main(void)
{
    return on_both(test);
}
