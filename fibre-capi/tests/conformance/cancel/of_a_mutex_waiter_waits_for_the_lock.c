/* pthread_mutex_lock: no cancellation point: the caller gets the mutex, and is cancelled later. */
#include "../check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int waiting, got_it;

static void *run(void *unused)
{
    waiting = 1;
    OK(pthread_mutex_lock(&mutex));
    got_it = 1;
    OK(pthread_mutex_unlock(&mutex));
    pthread_testcancel();
    return unused;
}

static void test(void)
{
    waiting = got_it = 0;
    OK(pthread_mutex_lock(&mutex));
    pthread_t thread = start(run, NULL);
    AWAIT(waiting);
    let_block();
    OK(pthread_cancel(thread));
    let_block();
    IS(got_it, 0);
    OK(pthread_mutex_unlock(&mutex));
    CHECK(finish(thread) == PTHREAD_CANCELED);
    IS(got_it, 1);
}

int main(void)
{
    return on_both(test);
}
