/* PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP, pthread_mutex_lock: at most one thread at a time holds the mutex. */
#include "../check.h"

#define THREADS 6
#define ROUNDS 300

static pthread_mutex_t mutex = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static long sum;

static void *add(void *unused)
{
    for (int round = 0; round < ROUNDS; round++) {
        OK(pthread_mutex_lock(&mutex));
        long seen = sum;
        if (round % 4 == 0)
            sched_yield();
        sum = seen + 1;
        OK(pthread_mutex_unlock(&mutex));
    }
    return unused;
}

static void test(void)
{
    pthread_t threads[THREADS];
    sum = 0;
    for (int i = 0; i < THREADS; i++)
        threads[i] = start(add, NULL);
    for (int i = 0; i < THREADS; i++)
        finish(threads[i]);
    IS(sum, (long)THREADS * ROUNDS);
}

int main(void)
{
    return on_both(test);
}
