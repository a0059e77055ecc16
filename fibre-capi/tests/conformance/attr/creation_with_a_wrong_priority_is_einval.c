/* pthread_create: EINVAL if the priority is none of the policy, and both count. */
#include "../check.h"

static void *run(void *unused)
{
    return unused;
}

static void test(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    struct sched_param ten = {.sched_priority = 10};
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED));
    OK(pthread_attr_setschedpolicy(&attr, SCHED_FIFO));
    IS(pthread_create(&thread, &attr, run, NULL), EINVAL);
    OK(pthread_attr_setschedpolicy(&attr, SCHED_RR));
    IS(pthread_create(&thread, &attr, run, NULL), EINVAL);
    OK(pthread_attr_setschedparam(&attr, &ten));
    OK(pthread_attr_setschedpolicy(&attr, SCHED_OTHER));
    IS(pthread_create(&thread, &attr, run, NULL), EINVAL);
    OK(pthread_attr_setinheritsched(&attr, PTHREAD_INHERIT_SCHED));
    OK(pthread_create(&thread, &attr, run, NULL));
    finish(thread);
    OK(pthread_attr_destroy(&attr));
}

int main(void)
{
    return on_both(test);
}
