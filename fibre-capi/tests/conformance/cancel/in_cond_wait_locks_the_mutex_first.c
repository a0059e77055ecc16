/* pthread_cond_wait, pthread_cond_timedwait: cancellation points; the mutex is locked again before the first cleanup handler. */
#include "../check.h"

static pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static atomic_int waiting, cleaned;

static void clean(void *unused)
{
    (void)unused;
    IS(pthread_mutex_lock(&mutex), EDEADLK);
    cleaned = 1;
    OK(pthread_mutex_unlock(&mutex));
}

static void *run(void *timed)
{
    struct timespec late = in_ms(CLOCK_REALTIME, 20000);
    OK(pthread_mutex_lock(&mutex));
    pthread_cleanup_push(clean, NULL);
    waiting = 1;
    for (;;)
        OK(timed ? pthread_cond_timedwait(&cond, &mutex, &late) : pthread_cond_wait(&cond, &mutex));
    pthread_cleanup_pop(0);
    return NULL;
}

static void test(void)
{
    for (int round = 0; round < 6; round++) {
        waiting = cleaned = 0;
        pthread_t thread = start(run, round % 2 ? &cond : NULL);
        AWAIT(waiting);
        if (round < 4)
            let_block();
        OK(pthread_mutex_lock(&mutex));
        OK(pthread_cancel(thread));
        let_block();
        IS(cleaned, 0);
        OK(pthread_mutex_unlock(&mutex));
        CHECK(finish(thread) == PTHREAD_CANCELED);
        IS(cleaned, 1);
    }
}

int main(void)
{
    return on_both(test);
}
