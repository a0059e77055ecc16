/* pthread_exit: ends the thread from any depth of calls; its value is what pthread_join stores. */
#include "../check.h"

static int descend(int depth)
{
    volatile char filler[200];
    filler[depth] = (char)depth;
    if (depth <= 0)
        pthread_exit((void *)42);
    if (depth > 1000)
        return 0;
    return descend(depth - 1) + filler[depth];
}

static void *run(void *unused)
{
    descend(50);
    CHECK(!"returned from pthread_exit");
    return unused;
}

static void test(void)
{
    for (int i = 0; i < 20; i++)
        IS((intptr_t)finish(start(run, NULL)), 42);
}

int main(void)
{
    return on_both(test);
}
