/* pthread_mutexattr_setprotocol, pthread_mutexattr_setrobust, pthread_mutexattr_setpshared, sem_init: ENOTSUP for what fibres do not offer. */
#include "../check.h"

static void test(void)
{
    pthread_mutexattr_t mutex;
    pthread_condattr_t cond;
    pthread_rwlockattr_t lock;
    pthread_barrierattr_t barrier;
    OK(pthread_mutexattr_init(&mutex));
    IS(pthread_mutexattr_setprotocol(&mutex, PTHREAD_PRIO_INHERIT), ENOTSUP);
    IS(pthread_mutexattr_setprotocol(&mutex, PTHREAD_PRIO_PROTECT), ENOTSUP);
    IS(pthread_mutexattr_setrobust(&mutex, PTHREAD_MUTEX_ROBUST), ENOTSUP);
    IS(pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED), ENOTSUP);
    OK(pthread_condattr_init(&cond));
    IS(pthread_condattr_setpshared(&cond, PTHREAD_PROCESS_SHARED), ENOTSUP);
    OK(pthread_rwlockattr_init(&lock));
    IS(pthread_rwlockattr_setpshared(&lock, PTHREAD_PROCESS_SHARED), ENOTSUP);
    OK(pthread_barrierattr_init(&barrier));
    IS(pthread_barrierattr_setpshared(&barrier, PTHREAD_PROCESS_SHARED), ENOTSUP);
}

int main(void)
{
    return on_both(test);
}
