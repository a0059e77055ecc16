/* pthread_rwlockattr_setkind_np: with PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP no reader passes a writer that waits. */
#include "../check.h"

static pthread_rwlock_t lock;
static atomic_int waiting;

static void *write_it(void *unused)
{
    waiting = 1;
    OK(pthread_rwlock_wrlock(&lock));
    OK(pthread_rwlock_unlock(&lock));
    return unused;
}

static void *try_read(void *unused)
{
    (void)unused;
    int result = pthread_rwlock_tryrdlock(&lock);
    if (result == 0)
        OK(pthread_rwlock_unlock(&lock));
    return (void *)(intptr_t)result;
}

static void test(void)
{
    pthread_rwlockattr_t attr;
    waiting = 0;
    OK(pthread_rwlockattr_init(&attr));
    OK(pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP));
    OK(pthread_rwlock_init(&lock, &attr));
    OK(pthread_rwlockattr_destroy(&attr));
    OK(pthread_rwlock_rdlock(&lock));
    pthread_t writer = start(write_it, NULL);
    AWAIT(waiting);
    while ((intptr_t)finish(start(try_read, NULL)) != EBUSY)
        let_block();
    OK(pthread_rwlock_unlock(&lock));
    finish(writer);
    IS((intptr_t)finish(start(try_read, NULL)), 0);
    OK(pthread_rwlock_destroy(&lock));
}

int main(void) { return on_both(test); }
