/* nanosleep: threads sleep at the same time: 500 sleeps of 50 ms are over long before their sum. */
#include "../check.h"

#define THREADS 500

static void *nap(void *unused)
{
    struct timespec time = {0, 50000000};
    OK(nanosleep(&time, NULL));
    return unused;
}

static void test(void)
{
    static pthread_t threads[THREADS];
    struct timespec late = in_ms(CLOCK_MONOTONIC, 20000);
    for (int i = 0; i < THREADS; i++)
        threads[i] = start(nap, NULL);
    for (int i = 0; i < THREADS; i++)
        finish(threads[i]);
    CHECK(!is_past(CLOCK_MONOTONIC, late));
}

int main(void)
{
    return on_both(test);
}
