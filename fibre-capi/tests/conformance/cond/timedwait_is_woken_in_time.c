/* pthread_cond_timedwait: 0 if signalled before the deadline. */
#include "../check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int waiting, told;

static void *wait_for_it(void *unused)
{
    struct timespec late = in_ms(CLOCK_REALTIME, 20000);
    OK(pthread_mutex_lock(&mutex));
    waiting = 1;
    while (!told)
        OK(pthread_cond_timedwait(&cond, &mutex, &late));
    OK(pthread_mutex_unlock(&mutex));
    CHECK(!is_past(CLOCK_REALTIME, late));
    return unused;
}

static void test(void)
{
    waiting = told = 0;
    pthread_t thread = start(wait_for_it, NULL);
    for (int done = 0; !done; sched_yield()) {
        OK(pthread_mutex_lock(&mutex));
        if (waiting) {
            done = told = 1;
            OK(pthread_cond_signal(&cond));
        }
        OK(pthread_mutex_unlock(&mutex));
    }
    finish(thread);
}

int main(void)
{
    return on_both(test);
}
