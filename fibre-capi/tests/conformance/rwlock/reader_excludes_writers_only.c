/* pthread_rwlock_rdlock, pthread_rwlock_trywrlock, pthread_rwlock_tryrdlock: a reader lets readers in, no writer. */
#include "../check.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *try_both(void *unused)
{
    IS(pthread_rwlock_trywrlock(&lock), EBUSY);
    OK(pthread_rwlock_tryrdlock(&lock));
    OK(pthread_rwlock_unlock(&lock));
    IS(pthread_rwlock_trywrlock(&lock), EBUSY);
    return unused;
}

static void test(void)
{
    OK(pthread_rwlock_rdlock(&lock));
    finish(start(try_both, NULL));
    OK(pthread_rwlock_unlock(&lock));
    OK(pthread_rwlock_trywrlock(&lock));
    OK(pthread_rwlock_unlock(&lock));
}

int main(void)
{
    return on_both(test);
}
