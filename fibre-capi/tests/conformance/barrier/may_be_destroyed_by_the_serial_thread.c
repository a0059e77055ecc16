/* pthread_barrier_destroy: safe after pthread_barrier_wait has returned to one thread, though others are on their way. */
#include "../check.h"

#define THREADS 4

static pthread_barrier_t *barrier;

static void *arrive(void *unused)
{
    pthread_barrier_t *mine = barrier;
    int result = pthread_barrier_wait(mine);
    if (result == PTHREAD_BARRIER_SERIAL_THREAD) {
        OK(pthread_barrier_destroy(mine));
        memset(mine, 0xa5, sizeof *mine);
        free(mine);
    } else {
        OK(result);
    }
    return unused;
}

static void test(void)
{
    for (int round = 0; round < 50; round++) {
        pthread_t threads[THREADS];
        barrier = malloc(sizeof *barrier);
        OK(pthread_barrier_init(barrier, NULL, THREADS));
        for (int i = 0; i < THREADS; i++)
            threads[i] = start(arrive, NULL);
        for (int i = 0; i < THREADS; i++)
            finish(threads[i]);
    }
}

int main(void)
{
    return on_both(test);
}
