/* pthread_barrierattr_getpshared, pthread_barrierattr_setpshared: private by default; EINVAL for unknown values. */
#include "../check.h"

static void test(void)
{
    pthread_barrierattr_t attr;
    pthread_barrier_t barrier;
    int value = -1;
    OK(pthread_barrierattr_init(&attr));
    OK(pthread_barrierattr_getpshared(&attr, &value));
    IS(value, PTHREAD_PROCESS_PRIVATE);
    OK(pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_PRIVATE));
    IS(pthread_barrierattr_setpshared(&attr, 77), EINVAL);
    OK(pthread_barrier_init(&barrier, &attr, 1));
    OK(pthread_barrier_destroy(&barrier));
    OK(pthread_barrierattr_destroy(&attr));
}

int main(void)
{
    return on_both(test);
}
