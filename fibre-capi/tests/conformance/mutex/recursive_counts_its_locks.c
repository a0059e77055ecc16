/* pthread_mutex_lock, pthread_mutex_unlock: a recursive mutex is free after as many unlocks as locks. */
#include "../check.h"

static pthread_mutex_t mutex;

static void *try_it(void *want)
{
    IS(pthread_mutex_trylock(&mutex), (intptr_t)want);
    if (!want)
        OK(pthread_mutex_unlock(&mutex));
    return NULL;
}

static void test(void)
{
    pthread_mutexattr_t attr;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE));
    OK(pthread_mutex_init(&mutex, &attr));
    for (int i = 0; i < 3; i++)
        OK(pthread_mutex_lock(&mutex));
    for (int i = 0; i < 3; i++) {
        finish(start(try_it, (void *)(intptr_t)EBUSY));
        OK(pthread_mutex_unlock(&mutex));
    }
    finish(start(try_it, (void *)0));
    OK(pthread_mutex_destroy(&mutex));
    OK(pthread_mutexattr_destroy(&attr));
}

int main(void)
{
    return on_both(test);
}
