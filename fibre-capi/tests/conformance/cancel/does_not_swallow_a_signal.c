/* pthread_cond_wait: a thread that is cancelled consumes no signal that another one could have got. */
#include "../check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int waiting, token;

static void unlock(void *unused)
{
    (void)unused;
    OK(pthread_mutex_unlock(&mutex));
}

static void *run(void *unused)
{
    OK(pthread_mutex_lock(&mutex));
    pthread_cleanup_push(unlock, NULL);
    waiting++;
    while (!token)
        OK(pthread_cond_wait(&cond, &mutex));
    token = 0;
    pthread_cleanup_pop(1);
    return unused;
}

static void test(void)
{
    for (int round = 0; round < 50; round++) {
        waiting = token = 0;
        pthread_t victim = start(run, NULL), other = start(run, NULL);
        for (int both = 0; !both; sched_yield()) {
            OK(pthread_mutex_lock(&mutex));
            if ((both = waiting == 2)) {
                token = 1;
                OK(pthread_cancel(victim));
                OK(pthread_cond_signal(&cond));
            }
            OK(pthread_mutex_unlock(&mutex));
        }
        if (finish(victim) != PTHREAD_CANCELED) {
            /* It has got the token all the same, so the other one needs a new one. */
            OK(pthread_mutex_lock(&mutex));
            token = 1;
            OK(pthread_cond_signal(&cond));
            OK(pthread_mutex_unlock(&mutex));
        }
        CHECK(finish(other) == NULL);
    }
}

int main(void) { return on_both(test); }
