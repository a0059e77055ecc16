/* pthread_cancel, pthread_cond_wait, pthread_condattr_setpshared: a cancelled thread has the mutex in its cleanup handlers, and does not swallow a signal. */
#include "shared.h"

#define WAITERS 8
#define CANCELLED 4

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
} *all;
static int permits, waiting, taken, cleaned;

static void clean_up(void *unused)
{
    (void)unused;
    IS(pthread_mutex_trylock(&all->mutex), EBUSY);
    cleaned++;
    OK(pthread_mutex_unlock(&all->mutex));
}

static void *wait_for_permit(void *unused)
{
    OK(pthread_mutex_lock(&all->mutex));
    pthread_cleanup_push(clean_up, NULL);
    waiting++;
    while (!permits)
        OK(pthread_cond_wait(&all->cond, &all->mutex));
    permits--;
    taken++;
    pthread_cleanup_pop(0);
    OK(pthread_mutex_unlock(&all->mutex));
    return unused;
}

static void with(int type)
{
    pthread_t threads[WAITERS];
    int ended = 0;
    permits = waiting = taken = cleaned = 0;
    init_mutex(&all->mutex, type, PTHREAD_MUTEX_STALLED);
    init_cond(&all->cond, CLOCK_REALTIME);
    for (int i = 0; i < WAITERS; i++)
        threads[i] = start(wait_for_permit, NULL);
    for (int all_wait = 0; !all_wait; let_block()) {
        OK(pthread_mutex_lock(&all->mutex));
        all_wait = waiting == WAITERS;
        OK(pthread_mutex_unlock(&all->mutex));
    }
    /* As many permits as there are threads that stay, while others are cancelled. */
    for (int i = 0; i < WAITERS; i++) {
        if (i < CANCELLED)
            OK(pthread_cancel(threads[i]));
        else {
            OK(pthread_mutex_lock(&all->mutex));
            permits++;
            OK(pthread_cond_signal(&all->cond));
            OK(pthread_mutex_unlock(&all->mutex));
        }
    }
    for (int i = 0; i < WAITERS; i++)
        ended += finish(threads[i]) == PTHREAD_CANCELED;
    IS(cleaned, ended);
    IS(taken, WAITERS - ended);
    IS(permits, WAITERS - CANCELLED - taken);
    CHECK(ended <= CANCELLED && permits == 0);
    OK(pthread_cond_destroy(&all->cond));
    OK(pthread_mutex_destroy(&all->mutex));
}

static void test(void)
{
    all = share(sizeof *all);
    with(PTHREAD_MUTEX_NORMAL);
    with(PTHREAD_MUTEX_ERRORCHECK);
}

int main(void)
{
    return on_both(test);
}
