/* pthread_mutex_timedlock: locks the mutex if it becomes free before the deadline. */
#include "../check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int waiting, unlocked;

static void *wait_for_it(void *unused)
{
    struct timespec late = in_ms(CLOCK_REALTIME, 20000);
    waiting = 1;
    OK(pthread_mutex_timedlock(&mutex, &late));
    IS(unlocked, 1);
    CHECK(!is_past(CLOCK_REALTIME, late));
    OK(pthread_mutex_unlock(&mutex));
    return unused;
}

static void test(void)
{
    waiting = unlocked = 0;
    OK(pthread_mutex_lock(&mutex));
    pthread_t thread = start(wait_for_it, NULL);
    AWAIT(waiting);
    let_block();
    unlocked = 1;
    OK(pthread_mutex_unlock(&mutex));
    finish(thread);
}

int main(void)
{
    return on_both(test);
}
