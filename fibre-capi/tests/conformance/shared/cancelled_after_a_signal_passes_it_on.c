/* pthread_cancel, pthread_cond_wait, pthread_cond_signal: of a thread that is cancelled when a signal has ended its wait, others do not wait for that signal in vain. */
#include "shared.h"

#define ROUNDS 10

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
} *all;
static int permits, waiting;

static void unlock(void *unused)
{
    (void)unused;
    OK(pthread_mutex_unlock(&all->mutex));
}

static void *wait_for_permit(void *unused)
{
    OK(pthread_mutex_lock(&all->mutex));
    pthread_cleanup_push(unlock, NULL);
    waiting++;
    while (!permits)
        OK(pthread_cond_wait(&all->cond, &all->mutex));
    permits--;
    pthread_cleanup_pop(1);
    return unused;
}

static void bring_permit(void)
{
    OK(pthread_mutex_lock(&all->mutex));
    permits++;
    OK(pthread_cond_signal(&all->cond));
    OK(pthread_mutex_unlock(&all->mutex));
}

/* Another one that waits, behind those who do. */
static pthread_t start_waiter(int number)
{
    pthread_t thread = start(wait_for_permit, NULL);
    for (int waits = 0; !waits; let_block()) {
        OK(pthread_mutex_lock(&all->mutex));
        waits = waiting == number;
        OK(pthread_mutex_unlock(&all->mutex));
    }
    until_all_block();
    return thread;
}

/* Lets others go on that need no processor of ours. Calls nothing that would give it away. */
static void compute(void)
{
    struct timespec end = in_ms(CLOCK_MONOTONIC, 10);
    while (!is_past(CLOCK_MONOTONIC, end))
        ;
}

static void with(int type)
{
    init_mutex(&all->mutex, type, PTHREAD_MUTEX_STALLED);
    init_cond(&all->cond, CLOCK_REALTIME);
    for (int round = 0; round < ROUNDS; round++) {
        waiting = permits = 0;
        pthread_t first = start_waiter(1);
        pthread_t second = start_waiter(2);
        bring_permit();
        compute();
        OK(pthread_cancel(first));
        /* The permit is the first one's if it was not cancelled in its wait, and else the second one's. */
        if (finish(first) != PTHREAD_CANCELED)
            bring_permit();
        CHECK(finish(second) == NULL);
        IS(permits, 0);
    }
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
