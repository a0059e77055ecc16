/* pthread_barrier_init, pthread_barrier_wait: with a count of 1 each caller passes, as the serial thread. */
#include "../check.h"

static void test(void)
{
    pthread_barrier_t barrier;
    OK(pthread_barrier_init(&barrier, NULL, 1));
    for (int i = 0; i < 3; i++)
        IS(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
    OK(pthread_barrier_destroy(&barrier));
}

int main(void)
{
    return on_both(test);
}
