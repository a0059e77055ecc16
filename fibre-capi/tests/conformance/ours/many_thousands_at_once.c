/* pthread_create: 20,000 threads that are alive at once. */
#include "../check.h"

#define THREADS 20000

static pthread_barrier_t barrier;

static void *meet(void *number)
{
    pthread_barrier_wait(&barrier);
    return number;
}

static void test(void)
{
    static pthread_t threads[THREADS];
    OK(pthread_barrier_init(&barrier, NULL, THREADS));
    for (intptr_t i = 0; i < THREADS; i++)
        threads[i] = start(meet, (void *)i);
    for (int i = 0; i < THREADS; i++)
        IS((intptr_t)finish(threads[i]), i);
    OK(pthread_barrier_destroy(&barrier));
}

int main(void)
{
    return on_both(test);
}
