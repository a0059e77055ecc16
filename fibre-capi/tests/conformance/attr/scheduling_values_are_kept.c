/* pthread_attr_setscope, pthread_attr_setinheritsched, pthread_attr_setschedpolicy, pthread_attr_setschedparam: what was set is got; EINVAL for unknown values. */
#include "../check.h"

static void test(void)
{
    pthread_attr_t attr;
    struct sched_param param = {0};
    int value = -1;
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setscope(&attr, PTHREAD_SCOPE_SYSTEM));
    IS(pthread_attr_setscope(&attr, 77), EINVAL);
    OK(pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED));
    OK(pthread_attr_getinheritsched(&attr, &value));
    IS(value, PTHREAD_EXPLICIT_SCHED);
    IS(pthread_attr_setinheritsched(&attr, 77), EINVAL);
    OK(pthread_attr_setschedpolicy(&attr, SCHED_OTHER));
    OK(pthread_attr_getschedpolicy(&attr, &value));
    IS(value, SCHED_OTHER);
    IS(pthread_attr_setschedpolicy(&attr, 77), EINVAL);
    OK(pthread_attr_setschedparam(&attr, &param));
    param.sched_priority = 77;
    OK(pthread_attr_getschedparam(&attr, &param));
    IS(param.sched_priority, 0);
    OK(pthread_attr_destroy(&attr));
}

int main(void)
{
    return on_both(test);
}
