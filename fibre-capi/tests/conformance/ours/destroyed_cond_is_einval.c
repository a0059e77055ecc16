/* pthread_cond_wait, pthread_cond_signal, pthread_cond_broadcast, pthread_cond_destroy: EINVAL for one that has been destroyed; the mutex stays held. */
#include "../check.h"

static void test(void)
{
    pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    pthread_cond_t cond;
    OK(pthread_cond_init(&cond, NULL));
    OK(pthread_cond_destroy(&cond));
    OK(pthread_mutex_lock(&mutex));
    IS(pthread_cond_wait(&cond, &mutex), EINVAL);
    IS(pthread_mutex_lock(&mutex), EDEADLK);
    OK(pthread_mutex_unlock(&mutex));
    IS(pthread_cond_signal(&cond), EINVAL);
    IS(pthread_cond_broadcast(&cond), EINVAL);
    IS(pthread_cond_destroy(&cond), EINVAL);
}

int main(void)
{
    return on_both(test);
}
