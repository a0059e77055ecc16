/* PTHREAD_MUTEX_INITIALIZER and its kin: the same as pthread_mutex_init with that type; zeroed memory is a free normal mutex. */
#include "../check.h"

static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t zeroed;

static void lock_twice(pthread_mutex_t *mutex, int second)
{
    OK(pthread_mutex_lock(mutex));
    IS(pthread_mutex_trylock(mutex), second);
    if (second == 0)
        OK(pthread_mutex_unlock(mutex));
    OK(pthread_mutex_unlock(mutex));
}

static void test(void)
{
    lock_twice(&normal, EBUSY);
    lock_twice(&recursive, 0);
    lock_twice(&checking, EBUSY);
    lock_twice(&adaptive, EBUSY);
    lock_twice(&zeroed, EBUSY);
    OK(pthread_mutex_lock(&checking));
    IS(pthread_mutex_lock(&checking), EDEADLK);
    OK(pthread_mutex_unlock(&checking));
}

int main(void)
{
    return on_both(test);
}
