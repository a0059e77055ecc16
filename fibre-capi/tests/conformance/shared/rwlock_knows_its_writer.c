/* pthread_rwlockattr_setpshared, pthread_rwlock_wrlock, pthread_rwlock_rdlock: EDEADLK for the thread that writes, EBUSY and ETIMEDOUT for others; readers share. */
#include "shared.h"

static pthread_rwlock_t *lock, *second;

static void *look(void *free)
{
    struct timespec soon = in_ms(CLOCK_REALTIME, 5);
    IS(pthread_rwlock_trywrlock(lock), EBUSY);
    IS(pthread_rwlock_timedwrlock(lock, &soon), ETIMEDOUT);
    if (!free) {
        IS(pthread_rwlock_tryrdlock(lock), EBUSY);
        IS(pthread_rwlock_timedrdlock(lock, &soon), ETIMEDOUT);
    } else {
        OK(pthread_rwlock_rdlock(lock));
        OK(pthread_rwlock_unlock(lock));
    }
    return free;
}

static void test(void)
{
    pthread_rwlockattr_t attr;
    lock = share(2 * sizeof *lock);
    second = lock + 1;
    OK(pthread_rwlockattr_init(&attr));
    OK(pthread_rwlockattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
    OK(pthread_rwlock_init(lock, &attr));
    OK(pthread_rwlock_init(second, &attr));
    for (int i = 0; i < 3; i++) {
        OK(pthread_rwlock_wrlock(lock));
        sched_yield();
        IS(pthread_rwlock_wrlock(lock), EDEADLK);
        IS(pthread_rwlock_rdlock(lock), EDEADLK);
        /* Reads another one, and gives that back first. */
        OK(pthread_rwlock_rdlock(second));
        OK(pthread_rwlock_unlock(second));
        finish(start(look, NULL));
        OK(pthread_rwlock_unlock(lock));
        OK(pthread_rwlock_rdlock(lock));
        OK(pthread_rwlock_wrlock(second));
        finish(start(look, lock));
        OK(pthread_rwlock_unlock(lock));
        OK(pthread_rwlock_unlock(second));
    }
    OK(pthread_rwlock_destroy(lock));
    OK(pthread_rwlock_destroy(second));
}

int main(void)
{
    return on_both(test);
}
