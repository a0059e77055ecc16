/* pthread_cond_timedwait: ETIMEDOUT if the deadline is past already; others may have had the mutex meanwhile. */
#include "../check.h"

static void test(void)
{
    pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    struct timespec past = in_ms(CLOCK_REALTIME, -5000);
    OK(pthread_mutex_lock(&mutex));
    IS(pthread_cond_timedwait(&cond, &mutex, &past), ETIMEDOUT);
    past.tv_sec = 0;
    past.tv_nsec = 0;
    IS(pthread_cond_timedwait(&cond, &mutex, &past), ETIMEDOUT);
    OK(pthread_mutex_unlock(&mutex));
}

int main(void)
{
    return on_both(test);
}
