/* Automatic variables and floating-point values are a thread's own over all waits. */
#include "../check.h"
/* mutant: volatile static */

static void *compute(void *number)
{
    volatile double values[16];
    double sum = 0;
    for (int i = 0; i < 16; i++)
        values[i] = (intptr_t)number + i / 3.0;
    for (int i = 0; i < 16; i++) {
        sum += values[i];
        sched_yield();
        if (i % 5 == 0)
            usleep(100);
    }
    double want = 0;
    for (int i = 0; i < 16; i++)
        want += (intptr_t)number + i / 3.0;
    CHECK(sum == want);
    return number;
}

static void test(void)
{
    pthread_t threads[50];
    for (intptr_t i = 0; i < 50; i++)
        threads[i] = start(compute, (void *)i);
    for (int i = 0; i < 50; i++)
        IS((intptr_t)finish(threads[i]), i);
}

int main(void)
{
    return on_both(test);
}
