/* pthread_spin_lock, pthread_spin_unlock: at most one thread at a time holds the lock. */
#include "../check.h"

#define THREADS 4
#define ROUNDS 200

static pthread_spinlock_t lock;
static long sum;

static void *add(void *unused)
{
    for (int round = 0; round < ROUNDS; round++) {
        OK(pthread_spin_lock(&lock));
        long seen = sum;
        if (round % 32 == 0)
            sched_yield();
        sum = seen + 1;
        OK(pthread_spin_unlock(&lock));
    }
    return unused;
}

static void test(void)
{
    pthread_t threads[THREADS];
    sum = 0;
    OK(pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE));
    for (int i = 0; i < THREADS; i++)
        threads[i] = start(add, NULL);
    for (int i = 0; i < THREADS; i++)
        finish(threads[i]);
    IS(sum, (long)THREADS * ROUNDS);
    OK(pthread_spin_destroy(&lock));
}

int main(void)
{
    return on_both(test);
}
