/* pthread_cond_signal, pthread_cond_broadcast: no effect if nobody waits; a later wait is not shortened. */
#include "../check.h"

static void test(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    for (int i = 0; i < 10; i++) {
        OK(pthread_cond_signal(&cond));
        OK(pthread_cond_broadcast(&cond));
    }
    OK(pthread_mutex_lock(&mutex));
    struct timespec soon = in_ms(CLOCK_REALTIME, 20);
    int result, early = 0;
    while ((result = pthread_cond_timedwait(&cond, &mutex, &soon)) == 0)
        early++;
    IS(result, ETIMEDOUT);
    /* Wakes without a reason are allowed, but not ten of them. */
    CHECK(early < 5);
    OK(pthread_mutex_unlock(&mutex));
}

int main(void)
{
    return on_both(test);
}
