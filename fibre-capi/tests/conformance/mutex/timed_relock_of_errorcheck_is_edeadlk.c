/* pthread_mutex_timedlock: EDEADLK if the caller holds the error-checking mutex already. */
#include "../check.h"

static void test(void)
{
    pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    struct timespec soon = in_ms(CLOCK_REALTIME, 20000);
    OK(pthread_mutex_timedlock(&mutex, &soon));
    IS(pthread_mutex_timedlock(&mutex, &soon), EDEADLK);
    OK(pthread_mutex_unlock(&mutex));
    CHECK(!is_past(CLOCK_REALTIME, soon));
}

int main(void)
{
    return on_both(test);
}
