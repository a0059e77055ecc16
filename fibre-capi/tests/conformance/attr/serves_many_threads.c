/* pthread_create: one attributes object serves many threads, and changes later change none of them. */
#include "../check.h"

static atomic_int release;

static void *linger(void *value)
{
    AWAIT(release);
    return value;
}

static void test(void)
{
    pthread_attr_t attr;
    pthread_t threads[10];
    release = 0;
    OK(pthread_attr_init(&attr));
    for (intptr_t i = 0; i < 10; i++)
        OK(pthread_create(&threads[i], &attr, linger, (void *)i));
    OK(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED));
    OK(pthread_attr_destroy(&attr));
    memset(&attr, 0xff, sizeof attr);
    release = 1;
    for (int i = 0; i < 10; i++)
        IS((intptr_t)finish(threads[i]), i);
}

int main(void)
{
    return on_both(test);
}
