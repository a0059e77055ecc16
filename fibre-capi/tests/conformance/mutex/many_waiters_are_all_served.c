/* pthread_mutex_lock, pthread_mutex_unlock: of 500 threads that wait for a mutex each gets it. */
#include "../check.h"

#define THREADS 500

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int served;

static void *wait_for_it(void *unused)
{
    OK(pthread_mutex_lock(&mutex));
    served++;
    OK(pthread_mutex_unlock(&mutex));
    return unused;
}

static void test(void)
{
    static pthread_t threads[THREADS];
    served = 0;
    OK(pthread_mutex_lock(&mutex));
    for (int i = 0; i < THREADS; i++)
        threads[i] = start(wait_for_it, NULL);
    let_block();
    IS(served, 0);
    OK(pthread_mutex_unlock(&mutex));
    for (int i = 0; i < THREADS; i++)
        finish(threads[i]);
    IS(served, THREADS);
}

int main(void)
{
    return on_both(test);
}
