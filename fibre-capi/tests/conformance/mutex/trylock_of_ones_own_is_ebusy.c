/* pthread_mutex_trylock: EBUSY for the holder of a normal and of an error-checking mutex, too. */
#include "../check.h"

static void try_kind(int kind)
{
    pthread_mutex_t mutex;
    pthread_mutexattr_t attr;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_settype(&attr, kind));
    OK(pthread_mutex_init(&mutex, &attr));
    OK(pthread_mutexattr_destroy(&attr));
    OK(pthread_mutex_lock(&mutex));
    IS(pthread_mutex_trylock(&mutex), EBUSY);
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_destroy(&mutex));
}

static void test(void)
{
    try_kind(PTHREAD_MUTEX_NORMAL);
    try_kind(PTHREAD_MUTEX_ERRORCHECK);
    try_kind(PTHREAD_MUTEX_DEFAULT);
}

int main(void)
{
    return on_both(test);
}
