/* pthread_mutex_lock, pthread_mutex_trylock, pthread_mutex_unlock, pthread_mutex_destroy: EINVAL for a mutex that has been destroyed. */
#include "../check.h"

static void test(void)
{
    pthread_mutex_t mutex;
    struct timespec soon = in_ms(CLOCK_REALTIME, 20);
    OK(pthread_mutex_init(&mutex, NULL));
    OK(pthread_mutex_destroy(&mutex));
    IS(pthread_mutex_lock(&mutex), EINVAL);
    IS(pthread_mutex_trylock(&mutex), EINVAL);
    IS(pthread_mutex_timedlock(&mutex, &soon), EINVAL);
    IS(pthread_mutex_unlock(&mutex), EINVAL);
    IS(pthread_mutex_destroy(&mutex), EINVAL);
    OK(pthread_mutex_init(&mutex, NULL));
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
}

int main(void)
{
    return on_both(test);
}
