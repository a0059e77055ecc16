/* pthread_rwlockattr_setpshared, pthread_rwlock_rdlock, pthread_rwlock_wrlock, pthread_rwlock_unlock: writers of several processes add up, and readers see nothing half-done. */
#include "shared.h"

#define THREADS 3
#define ROUNDS 200

static struct {
    pthread_rwlock_t lock;
    volatile long one, other;
} *all;

#define WORK(RDLOCK, WRLOCK, UNLOCK)                            \
    for (int round = 0; round < ROUNDS; round++) {              \
        OK(RDLOCK(&all->lock));                                 \
        IS(all->one, all->other);                               \
        if (round % 16 == 0)                                    \
            sched_yield();                                      \
        OK(UNLOCK(&all->lock));                                 \
        OK(WRLOCK(&all->lock));                                 \
        all->one++;                                             \
        if (round % 16 == 0)                                    \
            sched_yield();                                      \
        all->other++;                                           \
        OK(UNLOCK(&all->lock));                                 \
    }

static void in_plain_child(void)
{
    WORK(PLAIN(pthread_rwlock_rdlock), PLAIN(pthread_rwlock_wrlock), PLAIN(pthread_rwlock_unlock))
}

static void *in_thread(void *unused)
{
    WORK(pthread_rwlock_rdlock, pthread_rwlock_wrlock, pthread_rwlock_unlock)
    return unused;
}

static void in_threads(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        threads[i] = start(in_thread, NULL);
    in_thread(NULL);
    for (int i = 0; i < THREADS; i++)
        finish(threads[i]);
}

int main(void)
{
    pthread_rwlockattr_t attr;
    watch();
    all = share(sizeof *all);
    OK(pthread_rwlockattr_init(&attr));
    OK(pthread_rwlockattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
    OK(pthread_rwlock_init(&all->lock, &attr));
    pid_t one = child(in_plain_child), other = child(in_threads);
    in_threads();
    reap(one);
    reap(other);
    IS(all->one, ROUNDS * (1 + 2 * (THREADS + 1)));
    IS(all->other, all->one);
    OK(pthread_rwlock_destroy(&all->lock));
    return 0;
}
