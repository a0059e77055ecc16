/* pthread_mutex_trylock: EBUSY if another thread holds the mutex. */
#include "../check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *try_it(void *want)
{
    IS(pthread_mutex_trylock(&mutex), (intptr_t)want);
    if (!want)
        OK(pthread_mutex_unlock(&mutex));
    return NULL;
}

static void test(void)
{
    OK(pthread_mutex_lock(&mutex));
    finish(start(try_it, (void *)(intptr_t)EBUSY));
    OK(pthread_mutex_unlock(&mutex));
    finish(start(try_it, (void *)0));
}

int main(void)
{
    return on_both(test);
}
