/* pthread_cleanup_push, pthread_exit: handlers that are pushed run; those popped do not. */
#include "../check.h"

static int order[4], steps;

static void clean(void *number)
{
    order[steps++] = (int)(intptr_t)number;
}

static void deep(int depth)
{
    pthread_cleanup_push(clean, (void *)(intptr_t)depth);
    if (depth == 3)
        pthread_exit((void *)7);
    if (depth < 3)
        deep(depth + 1);
    pthread_cleanup_pop(1);
}

static void *run(void *unused)
{
    pthread_cleanup_push(clean, (void *)99);
    pthread_cleanup_pop(0);
    deep(1);
    return unused;
}

static void test(void)
{
    steps = 0;
    IS((intptr_t)finish(start(run, NULL)), 7);
    IS(steps, 3);
    for (int i = 0; i < 3; i++)
        IS(order[i], 3 - i);
}

int main(void)
{
    return on_both(test);
}
