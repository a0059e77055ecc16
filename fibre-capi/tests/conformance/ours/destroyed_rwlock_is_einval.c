/* pthread_rwlock_rdlock, pthread_rwlock_wrlock, pthread_rwlock_unlock, pthread_rwlock_destroy: EINVAL for one that has been destroyed. */
#include "../check.h"

static void test(void)
{
    pthread_rwlock_t lock;
    OK(pthread_rwlock_init(&lock, NULL));
    OK(pthread_rwlock_destroy(&lock));
    IS(pthread_rwlock_rdlock(&lock), EINVAL);
    IS(pthread_rwlock_tryrdlock(&lock), EINVAL);
    IS(pthread_rwlock_wrlock(&lock), EINVAL);
    IS(pthread_rwlock_trywrlock(&lock), EINVAL);
    IS(pthread_rwlock_unlock(&lock), EINVAL);
    IS(pthread_rwlock_destroy(&lock), EINVAL);
}

int main(void)
{
    return on_both(test);
}
