/* pthread_barrier_wait: PTHREAD_BARRIER_SERIAL_THREAD for one thread of each round, 0 for the others. */
#include "../check.h"

#define THREADS 5
#define ROUNDS 100

static pthread_barrier_t barrier;
static atomic_int serial[ROUNDS];

static void *arrive(void *unused)
{
    for (int round = 0; round < ROUNDS; round++) {
        int result = pthread_barrier_wait(&barrier);
        if (result == PTHREAD_BARRIER_SERIAL_THREAD)
            serial[round]++;
        else
            OK(result);
    }
    return unused;
}

static void test(void)
{
    pthread_t threads[THREADS];
    OK(pthread_barrier_init(&barrier, NULL, THREADS));
    for (int i = 0; i < THREADS; i++)
        threads[i] = start(arrive, NULL);
    for (int i = 0; i < THREADS; i++)
        finish(threads[i]);
    for (int round = 0; round < ROUNDS; round++) {
        IS(serial[round], 1);
        serial[round] = 0;
    }
    OK(pthread_barrier_destroy(&barrier));
}

int main(void)
{
    return on_both(test);
}
