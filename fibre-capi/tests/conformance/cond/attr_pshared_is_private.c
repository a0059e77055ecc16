/* pthread_condattr_getpshared, pthread_condattr_setpshared: private by default; EINVAL for unknown values. */
#include "../check.h"

static void test(void)
{
    pthread_condattr_t attr;
    int value = -1;
    OK(pthread_condattr_init(&attr));
    OK(pthread_condattr_getpshared(&attr, &value));
    IS(value, PTHREAD_PROCESS_PRIVATE);
    OK(pthread_condattr_setpshared(&attr, PTHREAD_PROCESS_PRIVATE));
    IS(pthread_condattr_setpshared(&attr, 77), EINVAL);
    OK(pthread_condattr_getpshared(&attr, &value));
    IS(value, PTHREAD_PROCESS_PRIVATE);
    OK(pthread_condattr_destroy(&attr));
}

int main(void)
{
    return on_both(test);
}
