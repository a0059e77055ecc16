/* pthread_exit: calls destructors after cleanup handlers, before a join returns. */
#include "../check.h"

static pthread_key_t key;
static int order[3], steps;

static void destroy(void *value)
{
    sched_yield();
    order[steps++] = (int)(intptr_t)value;
}

static void clean(void *value)
{
    CHECK((intptr_t)pthread_getspecific(key) == 3);
    order[steps++] = (int)(intptr_t)value;
}

static void *run(void *unused)
{
    OK(pthread_setspecific(key, (void *)3));
    pthread_cleanup_push(clean, (void *)2);
    pthread_cleanup_push(clean, (void *)1);
    pthread_exit((void *)9);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return unused;
}

static void test(void)
{
    steps = 0;
    OK(pthread_key_create(&key, destroy));
    IS((intptr_t)finish(start(run, NULL)), 9);
    IS(steps, 3);
    for (int i = 0; i < 3; i++)
        IS(order[i], i + 1);
    OK(pthread_key_delete(key));
}

int main(void)
{
    return on_both(test);
}
