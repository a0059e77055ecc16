/* pthread_rwlock_wrlock, pthread_rwlock_tryrdlock, pthread_rwlock_trywrlock: EBUSY while another thread writes. */
#include "../check.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *try_both(void *want)
{
    IS(pthread_rwlock_tryrdlock(&lock), (intptr_t)want);
    if (!want)
        OK(pthread_rwlock_unlock(&lock));
    IS(pthread_rwlock_trywrlock(&lock), (intptr_t)want);
    if (!want)
        OK(pthread_rwlock_unlock(&lock));
    return NULL;
}

static void test(void)
{
    OK(pthread_rwlock_wrlock(&lock));
    finish(start(try_both, (void *)(intptr_t)EBUSY));
    OK(pthread_rwlock_unlock(&lock));
    finish(start(try_both, (void *)0));
}

int main(void)
{
    return on_both(test);
}
