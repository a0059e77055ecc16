/* pthread_attr_setscope: ENOTSUP for PTHREAD_SCOPE_PROCESS, as on Linux. */
#include "../check.h"

static void test(void)
{
    pthread_attr_t attr;
    int value = -1;
    OK(pthread_attr_init(&attr));
    IS(pthread_attr_setscope(&attr, PTHREAD_SCOPE_PROCESS), ENOTSUP);
    OK(pthread_attr_getscope(&attr, &value));
    IS(value, PTHREAD_SCOPE_SYSTEM);
    OK(pthread_attr_destroy(&attr));
}

int main(void)
{
    return on_both(test);
}
