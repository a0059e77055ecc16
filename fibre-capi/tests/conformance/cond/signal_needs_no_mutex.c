/* pthread_cond_signal, pthread_cond_broadcast: may be called without the mutex. */
#include "../check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int told;

static void *wait_for_it(void *unused)
{
    OK(pthread_mutex_lock(&mutex));
    while (!told)
        OK(pthread_cond_wait(&cond, &mutex));
    OK(pthread_mutex_unlock(&mutex));
    return unused;
}

static void test(void)
{
    for (int round = 0; round < 50; round++) {
        told = 0;
        pthread_t threads[2] = {start(wait_for_it, NULL), start(wait_for_it, NULL)};
        if (round % 10 == 0)
            let_block();
        OK(pthread_mutex_lock(&mutex));
        told = 1;
        OK(pthread_mutex_unlock(&mutex));
        if (round % 2) {
            OK(pthread_cond_broadcast(&cond));
        } else {
            OK(pthread_cond_signal(&cond));
            OK(pthread_cond_signal(&cond));
        }
        finish(threads[0]);
        finish(threads[1]);
    }
}

int main(void)
{
    return on_both(test);
}
