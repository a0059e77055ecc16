/* pthread_attr_init: joinable, system scope, a guard of a page and a stack of at least PTHREAD_STACK_MIN. */
#include "../check.h"

static void test(void)
{
    pthread_attr_t attr;
    int value = -1;
    size_t size = 0;
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_getdetachstate(&attr, &value));
    IS(value, PTHREAD_CREATE_JOINABLE);
    OK(pthread_attr_getscope(&attr, &value));
    IS(value, PTHREAD_SCOPE_SYSTEM);
    OK(pthread_attr_getinheritsched(&attr, &value));
    IS(value, PTHREAD_INHERIT_SCHED);
    OK(pthread_attr_getschedpolicy(&attr, &value));
    IS(value, SCHED_OTHER);
    OK(pthread_attr_getguardsize(&attr, &size));
    IS(size, sysconf(_SC_PAGESIZE));
    OK(pthread_attr_getstacksize(&attr, &size));
    CHECK(size >= (size_t)PTHREAD_STACK_MIN);
    OK(pthread_attr_destroy(&attr));
}

int main(void)
{
    return on_both(test);
}
