/* pthread_attr_setstacksize, pthread_getattr_np: the stack that a thread is told of is at least as large as was asked. */
#include "../check.h"

/* Enough that no two stacks of a size lie alike. */
#define THREADS 40

static pthread_barrier_t barrier;

static void *look(void *asked)
{
    pthread_attr_t attr;
    void *low;
    size_t size = 0;
    OK(pthread_getattr_np(pthread_self(), &attr));
    OK(pthread_attr_getstack(&attr, &low, &size));
    OK(pthread_attr_destroy(&attr));
    if (size < (size_t)asked)
        IS(size, (size_t)asked);
    pthread_barrier_wait(&barrier);
    return NULL;
}

static void check(size_t asked)
{
    pthread_attr_t attr;
    pthread_t threads[THREADS];
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setstacksize(&attr, asked));
    OK(pthread_barrier_init(&barrier, NULL, THREADS));
    for (int one = 0; one < THREADS; one++)
        OK(pthread_create(&threads[one], &attr, look, (void *)asked));
    for (int one = 0; one < THREADS; one++)
        finish(threads[one]);
    OK(pthread_barrier_destroy(&barrier));
    OK(pthread_attr_destroy(&attr));
}

static void test(void)
{
    const size_t kib = 1024, sizes[] = {32, 64, 100, 128, 256, 512, 1024, 3000, 8192, 65536};
    for (size_t one = 0; one < sizeof sizes / sizeof *sizes; one++)
        check(sizes[one] * kib);
    check(PTHREAD_STACK_MIN);
}

int main(void)
{
    return on_both(test);
}
