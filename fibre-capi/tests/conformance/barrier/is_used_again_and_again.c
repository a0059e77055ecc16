/* pthread_barrier_wait: after a round the barrier is as after pthread_barrier_init; nobody laps anybody. */
#include "../check.h"

#define THREADS 4
#define ROUNDS 200

static pthread_barrier_t barrier;
static atomic_int total;

static void *arrive(void *unused)
{
    for (int round = 0; round < ROUNDS; round++) {
        CHECK(total >= round * THREADS && total < (round + 1) * THREADS);
        total++;
        pthread_barrier_wait(&barrier);
    }
    return unused;
}

static void test(void)
{
    pthread_t threads[THREADS];
    total = 0;
    OK(pthread_barrier_init(&barrier, NULL, THREADS));
    for (int i = 0; i < THREADS; i++)
        threads[i] = start(arrive, NULL);
    for (int i = 0; i < THREADS; i++)
        finish(threads[i]);
    IS(total, THREADS * ROUNDS);
    OK(pthread_barrier_destroy(&barrier));
}

int main(void)
{
    return on_both(test);
}
