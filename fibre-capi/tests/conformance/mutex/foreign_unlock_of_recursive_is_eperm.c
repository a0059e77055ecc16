/* pthread_mutex_unlock: EPERM if another thread holds the recursive mutex, which stays locked. */
#include "../check.h"

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void *unlock_it(void *unused)
{
    IS(pthread_mutex_unlock(&mutex), EPERM);
    IS(pthread_mutex_trylock(&mutex), EBUSY);
    return unused;
}

static void test(void)
{
    OK(pthread_mutex_lock(&mutex));
    finish(start(unlock_it, NULL));
    OK(pthread_mutex_unlock(&mutex));
}

int main(void)
{
    return on_both(test);
}
