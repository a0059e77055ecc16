/* pthread_barrier_wait: stops and lets go 100 threads, three times. */
#include "../check.h"

#define THREADS 100

static pthread_barrier_t barrier;
static atomic_int arrived;

static void *arrive(void *unused)
{
    for (int round = 1; round <= 3; round++) {
        arrived++;
        pthread_barrier_wait(&barrier);
        CHECK(arrived >= round * THREADS);
        pthread_barrier_wait(&barrier);
    }
    return unused;
}

static void test(void)
{
    static pthread_t threads[THREADS];
    arrived = 0;
    OK(pthread_barrier_init(&barrier, NULL, THREADS));
    for (int i = 0; i < THREADS; i++)
        threads[i] = start(arrive, NULL);
    for (int i = 0; i < THREADS; i++)
        finish(threads[i]);
    OK(pthread_barrier_destroy(&barrier));
}

int main(void)
{
    return on_both(test);
}
