/* pthread_barrier_wait, pthread_barrier_destroy: EINVAL for one that has been destroyed or never was initialised. */
#include "../check.h"

static void test(void)
{
    pthread_barrier_t barrier, zeroed;
    memset(&zeroed, 0, sizeof zeroed);
    IS(pthread_barrier_wait(&zeroed), EINVAL);
    OK(pthread_barrier_init(&barrier, NULL, 1));
    OK(pthread_barrier_destroy(&barrier));
    IS(pthread_barrier_wait(&barrier), EINVAL);
    IS(pthread_barrier_destroy(&barrier), EINVAL);
}

int main(void)
{
    return on_both(test);
}
