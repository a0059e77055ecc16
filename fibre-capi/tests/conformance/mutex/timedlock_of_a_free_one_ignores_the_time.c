/* pthread_mutex_timedlock: does not fail by the time if the mutex can be locked at once. */
#include "../check.h"

static void test(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct timespec past = in_ms(CLOCK_REALTIME, -1000);
    OK(pthread_mutex_timedlock(&mutex, &past));
    IS(pthread_mutex_trylock(&mutex), EBUSY);
    OK(pthread_mutex_unlock(&mutex));
}

int main(void)
{
    return on_both(test);
}
