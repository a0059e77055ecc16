/* pthread_rwlock_rdlock, pthread_rwlock_wrlock: EDEADLK for the thread that holds the write lock. */
#include "../check.h"

static void test(void)
{
    pthread_rwlock_t lock;
    OK(pthread_rwlock_init(&lock, NULL));
    OK(pthread_rwlock_wrlock(&lock));
    IS(pthread_rwlock_wrlock(&lock), EDEADLK);
    IS(pthread_rwlock_rdlock(&lock), EDEADLK);
    OK(pthread_rwlock_unlock(&lock));
    OK(pthread_rwlock_destroy(&lock));
}

int main(void)
{
    return on_both(test);
}
