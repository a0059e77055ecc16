/* PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP, zeroed memory: free locks. */
#include "../check.h"

static pthread_rwlock_t plain = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t writers = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static pthread_rwlock_t zeroed;

static void use(pthread_rwlock_t *lock)
{
    OK(pthread_rwlock_rdlock(lock));
    IS(pthread_rwlock_trywrlock(lock), EBUSY);
    OK(pthread_rwlock_unlock(lock));
    OK(pthread_rwlock_wrlock(lock));
    IS(pthread_rwlock_tryrdlock(lock), EBUSY);
    OK(pthread_rwlock_unlock(lock));
}

static void test(void)
{
    use(&plain);
    use(&writers);
    use(&zeroed);
}

int main(void)
{
    return on_both(test);
}
