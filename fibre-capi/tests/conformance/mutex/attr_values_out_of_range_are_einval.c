/* pthread_mutexattr_setpshared, pthread_mutexattr_setrobust, pthread_mutexattr_setprotocol: EINVAL for unknown values. */
#include "../check.h"

static void test(void)
{
    pthread_mutexattr_t attr;
    OK(pthread_mutexattr_init(&attr));
    IS(pthread_mutexattr_setpshared(&attr, 77), EINVAL);
    IS(pthread_mutexattr_setrobust(&attr, 77), EINVAL);
    IS(pthread_mutexattr_setprotocol(&attr, 77), EINVAL);
    OK(pthread_mutexattr_destroy(&attr));
}

int main(void)
{
    return on_both(test);
}
