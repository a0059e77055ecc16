/* pthread_rwlock_destroy: EBUSY while somebody holds the lock, which stays usable. */
#include "../check.h"

static void test(void)
{
    pthread_rwlock_t lock;
    OK(pthread_rwlock_init(&lock, NULL));
    OK(pthread_rwlock_rdlock(&lock));
    IS(pthread_rwlock_destroy(&lock), EBUSY);
    OK(pthread_rwlock_unlock(&lock));
    OK(pthread_rwlock_wrlock(&lock));
    IS(pthread_rwlock_destroy(&lock), EBUSY);
    OK(pthread_rwlock_unlock(&lock));
    OK(pthread_rwlock_destroy(&lock));
}

int main(void)
{
    return on_both(test);
}
