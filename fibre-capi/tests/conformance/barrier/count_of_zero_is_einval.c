/* pthread_barrier_init: EINVAL for a count of 0. */
#include "../check.h"

static void test(void)
{
    pthread_barrier_t barrier;
    IS(pthread_barrier_init(&barrier, NULL, 0), EINVAL);
}

int main(void)
{
    return on_both(test);
}
