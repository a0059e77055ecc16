/* pthread_condattr_setclock, pthread_cond_timedwait: the deadline is of the clock that the attributes name. */
#include "../check.h"

static void test(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_condattr_t attr;
    pthread_cond_t cond;
    int result;
    OK(pthread_condattr_init(&attr));
    OK(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
    OK(pthread_cond_init(&cond, &attr));
    OK(pthread_condattr_destroy(&attr));
    OK(pthread_mutex_lock(&mutex));
    struct timespec soon = in_ms(CLOCK_MONOTONIC, 30);
    while ((result = pthread_cond_timedwait(&cond, &mutex, &soon)) == 0)
        ;
    IS(result, ETIMEDOUT);
    CHECK(is_past(CLOCK_MONOTONIC, soon));
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_cond_destroy(&cond));
}

int main(void)
{
    return on_both(test);
}
