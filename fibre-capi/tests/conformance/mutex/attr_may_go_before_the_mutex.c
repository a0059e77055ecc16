/* pthread_mutex_init: later changes of the attributes, or their end, do not change the mutex. */
#include "../check.h"

static void test(void)
{
    pthread_mutex_t mutex;
    pthread_mutexattr_t attr;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK));
    OK(pthread_mutex_init(&mutex, &attr));
    OK(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE));
    OK(pthread_mutexattr_destroy(&attr));
    memset(&attr, 0xff, sizeof attr);
    OK(pthread_mutex_lock(&mutex));
    IS(pthread_mutex_lock(&mutex), EDEADLK);
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_destroy(&mutex));
}

int main(void)
{
    return on_both(test);
}
