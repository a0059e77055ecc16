/* pthread_mutexattr_getpshared, pthread_mutexattr_getrobust, pthread_mutexattr_getprotocol: private, stalled and none by default. */
#include "../check.h"

static void test(void)
{
    pthread_mutexattr_t attr;
    int value = -1;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_getpshared(&attr, &value));
    IS(value, PTHREAD_PROCESS_PRIVATE);
    value = -1;
    OK(pthread_mutexattr_getrobust(&attr, &value));
    IS(value, PTHREAD_MUTEX_STALLED);
    value = -1;
    OK(pthread_mutexattr_getprotocol(&attr, &value));
    IS(value, PTHREAD_PRIO_NONE);
    OK(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_PRIVATE));
    OK(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_STALLED));
    OK(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_NONE));
    OK(pthread_mutexattr_destroy(&attr));
}

int main(void)
{
    return on_both(test);
}
