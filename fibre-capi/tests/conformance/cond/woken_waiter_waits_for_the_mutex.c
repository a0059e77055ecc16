/* pthread_cond_wait: does not return before the mutex can be locked again. */
#include "../check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int inside, told;
static atomic_int still_held;

static void *wait_for_it(void *unused)
{
    OK(pthread_mutex_lock(&mutex));
    inside = 1;
    while (!told)
        OK(pthread_cond_wait(&cond, &mutex));
    IS(still_held, 0);
    OK(pthread_mutex_unlock(&mutex));
    return unused;
}

static void test(void)
{
    inside = told = 0;
    pthread_t thread = start(wait_for_it, NULL);
    for (int done = 0; !done; sched_yield()) {
        OK(pthread_mutex_lock(&mutex));
        if (inside) {
            done = told = still_held = 1;
            OK(pthread_cond_broadcast(&cond));
            let_block();
            still_held = 0;
        }
        OK(pthread_mutex_unlock(&mutex));
    }
    finish(thread);
}

int main(void)
{
    return on_both(test);
}
