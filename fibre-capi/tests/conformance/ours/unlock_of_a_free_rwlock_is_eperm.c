/* pthread_rwlock_unlock: EPERM if nobody holds the lock. */
#include "../check.h"

static void test(void)
{
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    IS(pthread_rwlock_unlock(&lock), EPERM);
    OK(pthread_rwlock_rdlock(&lock));
    OK(pthread_rwlock_unlock(&lock));
    IS(pthread_rwlock_unlock(&lock), EPERM);
}

int main(void)
{
    return on_both(test);
}
