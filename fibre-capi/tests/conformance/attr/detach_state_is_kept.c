/* pthread_attr_setdetachstate, pthread_attr_getdetachstate: what was set is got; EINVAL for unknown values. */
#include "../check.h"

static void test(void)
{
    pthread_attr_t attr;
    int value = -1;
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED));
    OK(pthread_attr_getdetachstate(&attr, &value));
    IS(value, PTHREAD_CREATE_DETACHED);
    IS(pthread_attr_setdetachstate(&attr, 77), EINVAL);
    OK(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_JOINABLE));
    OK(pthread_attr_getdetachstate(&attr, &value));
    IS(value, PTHREAD_CREATE_JOINABLE);
    OK(pthread_attr_destroy(&attr));
}

int main(void)
{
    return on_both(test);
}
