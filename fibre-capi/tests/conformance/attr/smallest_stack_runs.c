/* PTHREAD_STACK_MIN, pthread_create: a thread with the smallest stack can run and wait. */
#include "../check.h"

static void *run(void *value)
{
    sched_yield();
    usleep(1000);
    return value;
}

static void test(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN));
    OK(pthread_create(&thread, &attr, run, (void *)5));
    IS((intptr_t)finish(thread), 5);
    OK(pthread_attr_destroy(&attr));
}

int main(void)
{
    return on_both(test);
}
