/* pthread_cond_destroy: safe as soon as no thread waits any more, though those woken may not have returned yet. */
#include "../check.h"

#define THREADS 8

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t *cond;
static int waiting, told;

static void *wait_for_it(void *unused)
{
    OK(pthread_mutex_lock(&mutex));
    waiting++;
    while (!told)
        OK(pthread_cond_wait(cond, &mutex));
    OK(pthread_mutex_unlock(&mutex));
    return unused;
}

static void once_through(void)
{
    pthread_t threads[THREADS];
    cond = malloc(sizeof *cond);
    OK(pthread_cond_init(cond, NULL));
    waiting = told = 0;
    for (int i = 0; i < THREADS; i++)
        threads[i] = start(wait_for_it, NULL);
    for (int done = 0; !done; sched_yield()) {
        OK(pthread_mutex_lock(&mutex));
        if (waiting == THREADS) {
            done = told = 1;
            OK(pthread_cond_broadcast(cond));
            OK(pthread_cond_destroy(cond));
            memset(cond, 0xa5, sizeof *cond);
            free(cond);
        }
        OK(pthread_mutex_unlock(&mutex));
    }
    for (int i = 0; i < THREADS; i++)
        finish(threads[i]);
}

static void test(void)
{
    for (int round = 0; round < 20; round++)
        once_through();
}

int main(void) { return on_both(test); }
