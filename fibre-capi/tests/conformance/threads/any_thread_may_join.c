/* pthread_join: a thread may join one that another thread has created. */
#include "../check.h"

static pthread_t first;

static void *give(void *value)
{
    sched_yield();
    return value;
}

static void *join_first(void *unused)
{
    (void)unused;
    return finish(first);
}

static void *create_and_end(void *unused)
{
    first = start(give, (void *)42);
    return unused;
}

static void test(void)
{
    finish(start(create_and_end, NULL));
    IS((intptr_t)finish(start(join_first, NULL)), 42);
}

int main(void)
{
    return on_both(test);
}
