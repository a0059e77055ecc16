/* pthread_attr_setguardsize, pthread_attr_getguardsize: what was set is got. */
#include "../check.h"

static void *run(void *value)
{
    return value;
}

static void test(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    size_t size = 0;
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setguardsize(&attr, 65536));
    OK(pthread_attr_getguardsize(&attr, &size));
    IS(size, 65536);
    OK(pthread_create(&thread, &attr, run, (void *)5));
    IS((intptr_t)finish(thread), 5);
    OK(pthread_attr_destroy(&attr));
}

int main(void)
{
    return on_both(test);
}
