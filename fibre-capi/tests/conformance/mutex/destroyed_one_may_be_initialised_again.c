/* pthread_mutex_destroy, pthread_mutex_init: a destroyed mutex may be initialised again, as another kind. */
#include "../check.h"

static void test(void)
{
    pthread_mutex_t mutex;
    pthread_mutexattr_t attr;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE));
    for (int round = 0; round < 3; round++) {
        OK(pthread_mutex_init(&mutex, round % 2 ? &attr : NULL));
        OK(pthread_mutex_lock(&mutex));
        IS(pthread_mutex_trylock(&mutex), round % 2 ? 0 : EBUSY);
        if (round % 2)
            OK(pthread_mutex_unlock(&mutex));
        OK(pthread_mutex_unlock(&mutex));
        OK(pthread_mutex_destroy(&mutex));
    }
    OK(pthread_mutexattr_destroy(&attr));
}

int main(void)
{
    return on_both(test);
}
