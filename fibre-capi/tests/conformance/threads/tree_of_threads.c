/* pthread_create: a thread may create threads, and those others. */
#include "../check.h"

static void *grow(void *depth)
{
    intptr_t left = (intptr_t)depth;
    if (left == 0)
        return (void *)1;
    pthread_t one = start(grow, (void *)(left - 1));
    pthread_t two = start(grow, (void *)(left - 1));
    return (void *)((intptr_t)finish(one) + (intptr_t)finish(two));
}

static void test(void)
{
    IS((intptr_t)grow((void *)7), 128);
}

int main(void)
{
    return on_both(test);
}
