/* pthread_mutex_trylock and its kin: return their errors and leave errno as it is. */
#include "../check.h"

static void test(void)
{
    pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    struct timespec soon = in_ms(CLOCK_REALTIME, 5);
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    errno = 0;
    OK(pthread_mutex_lock(&mutex));
    IS(pthread_mutex_lock(&mutex), EDEADLK);
    IS(pthread_mutex_trylock(&mutex), EBUSY);
    IS(pthread_cond_timedwait(&cond, &mutex, &soon), ETIMEDOUT);
    OK(pthread_mutex_unlock(&mutex));
    IS(pthread_mutex_unlock(&mutex), EPERM);
    OK(pthread_rwlock_wrlock(&lock));
    IS(pthread_rwlock_tryrdlock(&lock), EBUSY);
    OK(pthread_rwlock_unlock(&lock));
    IS(pthread_join(pthread_self(), NULL), EDEADLK);
    IS(errno, 0);
}

int main(void)
{
    return on_both(test);
}
