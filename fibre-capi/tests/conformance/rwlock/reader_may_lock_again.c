/* pthread_rwlock_rdlock: a thread may hold several read locks, and unlocks as often. */
#include "../check.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *try_write(void *want)
{
    IS(pthread_rwlock_trywrlock(&lock), (intptr_t)want);
    if (!want)
        OK(pthread_rwlock_unlock(&lock));
    return NULL;
}

static void test(void)
{
    for (int i = 0; i < 3; i++)
        OK(pthread_rwlock_rdlock(&lock));
    for (int i = 0; i < 3; i++) {
        finish(start(try_write, (void *)(intptr_t)EBUSY));
        OK(pthread_rwlock_unlock(&lock));
    }
    finish(start(try_write, (void *)0));
}

int main(void)
{
    return on_both(test);
}
