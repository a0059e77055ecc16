/* pthread_barrierattr_setpshared, pthread_barrier_wait: threads of several processes meet, and one of each round is told so. */
#include "shared.h"

#define ROUNDS 40
#define PARTIES 5

static struct {
    pthread_barrier_t barrier;
    atomic_int arrived, serial;
} *all;

#define MEET(WAIT)                                              \
    for (int round = 1; round <= ROUNDS; round++) {             \
        all->arrived++;                                         \
        int result = WAIT(&all->barrier);                       \
        CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD); \
        all->serial += result != 0;                             \
        CHECK(all->arrived >= round * PARTIES);                 \
    }

static void in_plain_child(void)
{
    MEET(PLAIN(pthread_barrier_wait))
}

static void *in_thread(void *unused)
{
    MEET(pthread_barrier_wait)
    return unused;
}

static void in_child(void)
{
    finish(start(in_thread, NULL));
}

int main(void)
{
    pthread_barrierattr_t attr;
    watch();
    all = share(sizeof *all);
    OK(pthread_barrierattr_init(&attr));
    OK(pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
    OK(pthread_barrier_init(&all->barrier, &attr, PARTIES));
    pid_t one = child(in_plain_child), other = child(in_child);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        threads[i] = start(in_thread, NULL);
    in_thread(NULL);
    for (int i = 0; i < 2; i++)
        finish(threads[i]);
    reap(one);
    reap(other);
    IS(all->arrived, ROUNDS * PARTIES);
    IS(all->serial, ROUNDS);
    OK(pthread_barrier_destroy(&all->barrier));
    return 0;
}
