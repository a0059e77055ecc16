/* pthread_attr_setdetachstate, pthread_attr_setinheritsched, pthread_attr_setschedpolicy, pthread_attr_setschedparam, pthread_attr_setscope,
 * pthread_attr_setstacksize: EINVAL for what is no such value, and the one that was set stays. */
#include "../check.h"

static void test(void)
{
    pthread_attr_t attr;
    int value = -1;
    size_t size = 0;
    struct sched_param param = {.sched_priority = 7}, wrong = {.sched_priority = 100};
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED));
    IS(pthread_attr_setdetachstate(&attr, 7), EINVAL);
    OK(pthread_attr_getdetachstate(&attr, &value));
    IS(value, PTHREAD_CREATE_DETACHED);
    OK(pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED));
    IS(pthread_attr_setinheritsched(&attr, 7), EINVAL);
    OK(pthread_attr_getinheritsched(&attr, &value));
    IS(value, PTHREAD_EXPLICIT_SCHED);
    OK(pthread_attr_setschedpolicy(&attr, SCHED_RR));
    IS(pthread_attr_setschedpolicy(&attr, 77), EINVAL);
    OK(pthread_attr_getschedpolicy(&attr, &value));
    IS(value, SCHED_RR);
    OK(pthread_attr_setschedparam(&attr, &param));
    IS(pthread_attr_setschedparam(&attr, &wrong), EINVAL);
    wrong.sched_priority = 0;
    IS(pthread_attr_setschedparam(&attr, &wrong), EINVAL);
    wrong.sched_priority = -1;
    IS(pthread_attr_setschedparam(&attr, &wrong), EINVAL);
    OK(pthread_attr_getschedparam(&attr, &param));
    IS(param.sched_priority, 7);
    IS(pthread_attr_setscope(&attr, 7), EINVAL);
    OK(pthread_attr_setstacksize(&attr, 1 << 20));
    IS(pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN - 1), EINVAL);
    IS(pthread_attr_setstacksize(&attr, 0), EINVAL);
    OK(pthread_attr_getstacksize(&attr, &size));
    IS(size, 1 << 20);
    OK(pthread_attr_destroy(&attr));
}

int main(void)
{
    return on_both(test);
}
