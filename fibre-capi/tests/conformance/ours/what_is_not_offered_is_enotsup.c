/* pthread_mutexattr_setprotocol, pthread_cond_wait: ENOTSUP for what fibres do not offer. */
#include "../check.h"

static void test(void)
{
    pthread_mutexattr_t attr;
    pthread_mutex_t shared;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    OK(pthread_mutexattr_init(&attr));
    IS(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT), ENOTSUP);
    IS(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_PROTECT), ENOTSUP);
    /* A condition variable of this process with a mutex of several. */
    OK(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
    OK(pthread_mutex_init(&shared, &attr));
    OK(pthread_mutex_lock(&shared));
    IS(pthread_cond_wait(&cond, &shared), ENOTSUP);
    OK(pthread_mutex_unlock(&shared));
    OK(pthread_mutex_destroy(&shared));
}

int main(void)
{
    return on_both(test);
}
