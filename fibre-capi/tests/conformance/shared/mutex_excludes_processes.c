/* pthread_mutexattr_setpshared, pthread_mutex_lock, pthread_mutex_unlock: a mutex of any type excludes threads of other processes. */
#include "shared.h"

#define TYPES 4
#define THREADS 4
#define ROUNDS 300

static const int types[TYPES] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                                 PTHREAD_MUTEX_ADAPTIVE_NP};

static struct {
    pthread_mutex_t mutex[TYPES];
    volatile long count[TYPES];
} *all;

/* One more, in two steps. */
static void add(int type, int round)
{
    long seen = all->count[type];
    if (round % 16 == 0)
        sched_yield();
    all->count[type] = seen + 1;
}

static void in_plain_child(void)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int type = 0; type < TYPES; type++) {
            OK(PLAIN(pthread_mutex_lock)(&all->mutex[type]));
            add(type, round);
            OK(PLAIN(pthread_mutex_unlock)(&all->mutex[type]));
        }
}

static void *in_thread(void *unused)
{
    for (int round = 0; round < ROUNDS; round++)
        for (int type = 0; type < TYPES; type++) {
            OK(pthread_mutex_lock(&all->mutex[type]));
            add(type, round);
            OK(pthread_mutex_unlock(&all->mutex[type]));
        }
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
    watch();
    all = share(sizeof *all);
    for (int type = 0; type < TYPES; type++)
        init_mutex(&all->mutex[type], types[type], PTHREAD_MUTEX_STALLED);
    pid_t one = child(in_plain_child), other = child(in_threads);
    in_threads();
    reap(one);
    reap(other);
    for (int type = 0; type < TYPES; type++) {
        IS(all->count[type], ROUNDS * (1 + 2 * (THREADS + 1)));
        OK(pthread_mutex_destroy(&all->mutex[type]));
    }
    return 0;
}
