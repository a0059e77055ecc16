/* pthread_mutexattr_setpshared, pthread_condattr_setpshared, pthread_rwlockattr_setpshared, pthread_barrierattr_setpshared, pthread_mutexattr_setrobust: what was set is got, and other attributes stay. */
#include "../check.h"

static void test(void)
{
    pthread_mutexattr_t mutex;
    pthread_condattr_t cond;
    pthread_rwlockattr_t lock;
    pthread_barrierattr_t barrier;
    clockid_t clock = -1;
    int value = -1;
    OK(pthread_mutexattr_init(&mutex));
    OK(pthread_mutexattr_settype(&mutex, PTHREAD_MUTEX_RECURSIVE));
    OK(pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED));
    OK(pthread_mutexattr_setrobust(&mutex, PTHREAD_MUTEX_ROBUST));
    OK(pthread_mutexattr_getpshared(&mutex, &value));
    IS(value, PTHREAD_PROCESS_SHARED);
    OK(pthread_mutexattr_getrobust(&mutex, &value));
    IS(value, PTHREAD_MUTEX_ROBUST);
    OK(pthread_mutexattr_gettype(&mutex, &value));
    IS(value, PTHREAD_MUTEX_RECURSIVE);
    OK(pthread_mutexattr_settype(&mutex, PTHREAD_MUTEX_ERRORCHECK));
    OK(pthread_mutexattr_getpshared(&mutex, &value));
    IS(value, PTHREAD_PROCESS_SHARED);
    OK(pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_PRIVATE));
    OK(pthread_mutexattr_getpshared(&mutex, &value));
    IS(value, PTHREAD_PROCESS_PRIVATE);
    OK(pthread_mutexattr_getrobust(&mutex, &value));
    IS(value, PTHREAD_MUTEX_ROBUST);
    OK(pthread_mutexattr_destroy(&mutex));

    OK(pthread_condattr_init(&cond));
    OK(pthread_condattr_setpshared(&cond, PTHREAD_PROCESS_SHARED));
    OK(pthread_condattr_setclock(&cond, CLOCK_MONOTONIC));
    OK(pthread_condattr_getpshared(&cond, &value));
    IS(value, PTHREAD_PROCESS_SHARED);
    OK(pthread_condattr_getclock(&cond, &clock));
    IS(clock, CLOCK_MONOTONIC);
    OK(pthread_condattr_destroy(&cond));

    OK(pthread_rwlockattr_init(&lock));
    OK(pthread_rwlockattr_setpshared(&lock, PTHREAD_PROCESS_SHARED));
    OK(pthread_rwlockattr_setkind_np(&lock, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP));
    OK(pthread_rwlockattr_getpshared(&lock, &value));
    IS(value, PTHREAD_PROCESS_SHARED);
    OK(pthread_rwlockattr_getkind_np(&lock, &value));
    IS(value, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    OK(pthread_rwlockattr_destroy(&lock));

    OK(pthread_barrierattr_init(&barrier));
    OK(pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED));
    OK(pthread_barrierattr_getpshared(&barrier, &value));
    IS(value, PTHREAD_PROCESS_SHARED);
    OK(pthread_barrierattr_destroy(&barrier));
}

int main(void)
{
    return on_both(test);
}
