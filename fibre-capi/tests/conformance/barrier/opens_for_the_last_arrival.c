/* pthread_barrier_wait: returns when as many threads as were named have called it. */
#include "../check.h"

#define THREADS 4

static pthread_barrier_t barrier;
static atomic_int arrived, passed;

static void *arrive(void *unused)
{
    arrived++;
    int result = pthread_barrier_wait(&barrier);
    CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
    IS(arrived, THREADS);
    passed++;
    return unused;
}

static void test(void)
{
    pthread_t threads[THREADS - 1];
    arrived = passed = 0;
    OK(pthread_barrier_init(&barrier, NULL, THREADS));
    for (int i = 0; i < THREADS - 1; i++)
        threads[i] = start(arrive, NULL);
    AWAIT(arrived == THREADS - 1);
    let_block();
    IS(passed, 0);
    arrive(NULL);
    for (int i = 0; i < THREADS - 1; i++)
        finish(threads[i]);
    IS(passed, THREADS);
    OK(pthread_barrier_destroy(&barrier));
}

int main(void)
{
    return on_both(test);
}
