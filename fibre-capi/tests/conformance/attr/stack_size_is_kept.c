/* pthread_attr_setstacksize, pthread_attr_getstacksize: what was set is got; EINVAL below PTHREAD_STACK_MIN. */
#include "../check.h"

static void test(void)
{
    pthread_attr_t attr;
    size_t size = 0;
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setstacksize(&attr, 1 << 20));
    OK(pthread_attr_getstacksize(&attr, &size));
    IS(size, 1 << 20);
    IS(pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN - 1), EINVAL);
    IS(pthread_attr_setstacksize(&attr, 0), EINVAL);
    OK(pthread_attr_getstacksize(&attr, &size));
    IS(size, 1 << 20);
    OK(pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN));
    OK(pthread_attr_getstacksize(&attr, &size));
    IS(size, PTHREAD_STACK_MIN);
    OK(pthread_attr_destroy(&attr));
}

int main(void)
{
    return on_both(test);
}
