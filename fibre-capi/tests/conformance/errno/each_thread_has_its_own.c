/* errno: what a call sets in one thread no other thread sees. */
#include "../check.h"

#define THREADS 8

static pthread_barrier_t barrier;

static void *keep(void *number)
{
    int mine = (int)(intptr_t)number;
    for (int round = 0; round < 20; round++) {
        errno = mine;
        /* By now all have set theirs. */
        pthread_barrier_wait(&barrier);
        IS(errno, mine);
        sched_yield();
        IS(errno, mine);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void test(void)
{
    pthread_t threads[THREADS];
    OK(pthread_barrier_init(&barrier, NULL, THREADS));
    for (intptr_t i = 0; i < THREADS; i++)
        threads[i] = start(keep, (void *)(i + 1));
    for (int i = 0; i < THREADS; i++)
        finish(threads[i]);
    OK(pthread_barrier_destroy(&barrier));
}

int main(void)
{
    return on_both(test);
}
