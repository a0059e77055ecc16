/* pthread_mutex_lock, pthread_mutex_unlock: at most one thread at a time holds the mutex. */
#include "../check.h"

#define THREADS 8
#define ROUNDS 500

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long sum;
static int inside;

static void *add(void *unused)
{
    for (int round = 0; round < ROUNDS; round++) {
        OK(pthread_mutex_lock(&mutex));
        IS(inside++, 0);
        long seen = sum;
        if (round % 8 == 0)
            sched_yield();
        sum = seen + 1;
        inside--;
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
