/* pthread_cond_timedwait: ETIMEDOUT at the deadline of the realtime clock, not before, with the mutex held. */
#include "../check.h"

static void test(void)
{
    pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    struct timespec soon = in_ms(CLOCK_REALTIME, 30);
    int result;
    OK(pthread_mutex_lock(&mutex));
    while ((result = pthread_cond_timedwait(&cond, &mutex, &soon)) == 0)
        ;
    IS(result, ETIMEDOUT);
    CHECK(is_past(CLOCK_REALTIME, soon));
    IS(pthread_mutex_lock(&mutex), EDEADLK);
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_cond_destroy(&cond));
}

int main(void)
{
    return on_both(test);
}
