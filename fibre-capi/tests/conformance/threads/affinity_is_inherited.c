/* pthread_attr_setaffinity_np, pthread_getaffinity_np: a thread has the affinity of its attributes, and those that it creates have its. */
#include "../check.h"

static cpu_set_t first;

static void *look(void *depth)
{
    cpu_set_t own;
    OK(pthread_getaffinity_np(pthread_self(), sizeof own, &own));
    CHECK(CPU_EQUAL(&own, &first));
    if (depth)
        finish(start(look, (char *)depth - 1));
    return NULL;
}

static void test(void)
{
    pthread_t thread;
    pthread_attr_t attr;
    cpu_set_t all;
    OK(pthread_getaffinity_np(pthread_self(), sizeof all, &all));
    CPU_ZERO(&first);
    for (int cpu = 0; CPU_COUNT(&first) == 0; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &first);
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setaffinity_np(&attr, sizeof first, &first));
    OK(pthread_create(&thread, &attr, look, (void *)2));
    finish(thread);
    OK(pthread_attr_destroy(&attr));
}

int main(void)
{
    return on_both(test);
}
