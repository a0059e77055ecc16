/* pthread_mutex_trylock: locks a free mutex, as pthread_mutex_lock does. */
#include "../check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *try_it(void *unused)
{
    IS(pthread_mutex_trylock(&mutex), EBUSY);
    return unused;
}

static void test(void)
{
    OK(pthread_mutex_trylock(&mutex));
    finish(start(try_it, NULL));
    OK(pthread_mutex_unlock(&mutex));
}

int main(void)
{
    return on_both(test);
}
