/* pthread_create: EAGAIN if there is no memory for the stack; threads can be created afterwards. */
#include "../check.h"

static void *run(void *value)
{
    return value;
}

static void test(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setstacksize(&attr, (size_t)1 << 50));
    IS(pthread_create(&thread, &attr, run, NULL), EAGAIN);
    OK(pthread_attr_destroy(&attr));
    IS((intptr_t)finish(start(run, (void *)3)), 3);
}

int main(void)
{
    return on_both(test);
}
