/* pthread_mutex_destroy: EBUSY while the mutex is locked, which stays usable. */
#include "../check.h"

static void test(void)
{
    pthread_mutex_t mutex;
    OK(pthread_mutex_init(&mutex, NULL));
    OK(pthread_mutex_lock(&mutex));
    IS(pthread_mutex_destroy(&mutex), EBUSY);
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_destroy(&mutex));
}

int main(void)
{
    return on_both(test);
}
