/* pthread_cond_wait: the mutex is free during the wait, and the caller's again at its end. */
#include "../check.h"

static pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int inside, told;

static void *wait_for_it(void *unused)
{
    OK(pthread_mutex_lock(&mutex));
    inside = 1;
    while (!told)
        OK(pthread_cond_wait(&cond, &mutex));
    IS(pthread_mutex_lock(&mutex), EDEADLK);
    OK(pthread_mutex_unlock(&mutex));
    return unused;
}

static void test(void)
{
    inside = told = 0;
    pthread_t thread = start(wait_for_it, NULL);
    for (int done = 0; !done; sched_yield()) {
        OK(pthread_mutex_lock(&mutex));
        done = told = inside;
        OK(pthread_cond_signal(&cond));
        OK(pthread_mutex_unlock(&mutex));
    }
    finish(thread);
}

int main(void)
{
    return on_both(test);
}
