/* pthread_mutex_lock, pthread_mutex_unlock: a lock of a held mutex returns after the holder's unlock. */
#include "../check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int unlocked, waiting;

static void *wait_for_it(void *unused)
{
    waiting = 1;
    OK(pthread_mutex_lock(&mutex));
    IS(unlocked, 1);
    OK(pthread_mutex_unlock(&mutex));
    return unused;
}

static void test(void)
{
    unlocked = waiting = 0;
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
