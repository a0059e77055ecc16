/* pthread_cond_broadcast: unblocks all threads that wait. */
#include "../check.h"

#define THREADS 100

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int waiting, open_now;

static void *pass(void *unused)
{
    OK(pthread_mutex_lock(&mutex));
    waiting++;
    while (!open_now)
        OK(pthread_cond_wait(&cond, &mutex));
    OK(pthread_mutex_unlock(&mutex));
    return unused;
}

static void test(void)
{
    static pthread_t threads[THREADS];
    waiting = open_now = 0;
    for (int i = 0; i < THREADS; i++)
        threads[i] = start(pass, NULL);
    for (int all = 0; !all;) {
        OK(pthread_mutex_lock(&mutex));
        all = waiting == THREADS;
        if (all) {
            open_now = 1;
            OK(pthread_cond_broadcast(&cond));
        }
        OK(pthread_mutex_unlock(&mutex));
        sched_yield();
    }
    for (int i = 0; i < THREADS; i++)
        finish(threads[i]);
}

int main(void)
{
    return on_both(test);
}
