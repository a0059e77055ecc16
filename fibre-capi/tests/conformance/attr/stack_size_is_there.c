/* pthread_attr_setstacksize, pthread_create: the thread may use nearly as much stack as was asked for. */
#include "../check.h"

#define SIZE (16 << 20)

static void *use(void *unused)
{
    volatile char bytes[SIZE - (256 << 10)];
    for (size_t i = 0; i < sizeof bytes; i += 4096)
        bytes[i] = (char)i;
    sched_yield();
    for (size_t i = 0; i < sizeof bytes; i += 4096)
        IS(bytes[i], (char)i);
    return unused;
}

static void test(void)
{
    pthread_attr_t attr;
    pthread_t threads[3];
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setstacksize(&attr, SIZE));
    for (int i = 0; i < 3; i++)
        OK(pthread_create(&threads[i], &attr, use, NULL));
    for (int i = 0; i < 3; i++)
        finish(threads[i]);
    OK(pthread_attr_destroy(&attr));
}

int main(void)
{
    return on_both(test);
}
