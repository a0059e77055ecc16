/* pthread_mutex_unlock: EPERM if nobody holds the error-checking or recursive mutex. */
#include "../check.h"

static void test(void)
{
    pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    IS(pthread_mutex_unlock(&checking), EPERM);
    IS(pthread_mutex_unlock(&recursive), EPERM);
    OK(pthread_mutex_lock(&checking));
    OK(pthread_mutex_unlock(&checking));
    OK(pthread_mutex_lock(&recursive));
    OK(pthread_mutex_unlock(&recursive));
}

int main(void)
{
    return on_both(test);
}
