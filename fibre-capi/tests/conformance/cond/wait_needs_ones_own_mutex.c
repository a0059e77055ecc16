/* pthread_cond_wait, pthread_cond_timedwait: EPERM if the caller does not hold the error-checking mutex. */
#include "../check.h"

static void test(void)
{
    pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    struct timespec soon = in_ms(CLOCK_REALTIME, 20);
    IS(pthread_cond_wait(&cond, &mutex), EPERM);
    IS(pthread_cond_timedwait(&cond, &mutex, &soon), EPERM);
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
}

int main(void)
{
    return on_both(test);
}
