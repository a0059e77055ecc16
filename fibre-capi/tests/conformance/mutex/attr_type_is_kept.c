/* pthread_mutexattr_settype, pthread_mutexattr_gettype: what was set is got; the default is PTHREAD_MUTEX_DEFAULT; EINVAL for others. */
#include "../check.h"

static void test(void)
{
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                                PTHREAD_MUTEX_DEFAULT};
    pthread_mutexattr_t attr;
    int type = -1;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_gettype(&attr, &type));
    IS(type, PTHREAD_MUTEX_DEFAULT);
    for (int i = 0; i < 4; i++) {
        OK(pthread_mutexattr_settype(&attr, types[i]));
        OK(pthread_mutexattr_gettype(&attr, &type));
        IS(type, types[i]);
    }
    IS(pthread_mutexattr_settype(&attr, 12345), EINVAL);
    IS(pthread_mutexattr_settype(&attr, -1), EINVAL);
    OK(pthread_mutexattr_gettype(&attr, &type));
    IS(type, PTHREAD_MUTEX_DEFAULT);
    OK(pthread_mutexattr_destroy(&attr));
}

int main(void)
{
    return on_both(test);
}
