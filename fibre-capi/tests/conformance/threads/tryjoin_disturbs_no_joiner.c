/* pthread_tryjoin_np, pthread_clockjoin_np: who only looks whether a thread has ended keeps nobody from joining it. */
#include "../check.h"

static pthread_t looked_at;
static atomic_int ready, over, ends;

static void *stay(void *unused)
{
    while (!ends)
        usleep(100);
    return unused;
}

static void *look(void *unused)
{
    while (!over) {
        for (int i = 0; i < 100; i++)
            IS(pthread_tryjoin_np(looked_at, NULL), EBUSY);
        ready = 1;
        sched_yield();
    }
    return unused;
}

static void test(void)
{
    ready = over = ends = 0;
    looked_at = start(stay, NULL);
    pthread_t looker = start(look, NULL);
    AWAIT(ready);
    for (int i = 0; i < 3000; i++) {
        struct timespec past = in_ms(CLOCK_MONOTONIC, -1);
        IS(pthread_clockjoin_np(looked_at, NULL, CLOCK_MONOTONIC, &past), ETIMEDOUT);
        if (i % 100 == 0)
            usleep(1);
    }
    over = 1;
    finish(looker);
    ends = 1;
    finish(looked_at);
}

int main(void)
{
    return on_both(test);
}
