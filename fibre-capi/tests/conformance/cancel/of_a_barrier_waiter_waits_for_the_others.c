/* pthread_barrier_wait: no cancellation point: the caller arrives and passes, and is cancelled later. */
#include "../check.h"

static pthread_barrier_t barrier;
static atomic_int waiting, passed;

static void *run(void *unused)
{
    waiting = 1;
    pthread_barrier_wait(&barrier);
    passed = 1;
    pthread_testcancel();
    return unused;
}

static void test(void)
{
    waiting = passed = 0;
    OK(pthread_barrier_init(&barrier, NULL, 2));
    pthread_t thread = start(run, NULL);
    AWAIT(waiting);
    let_block();
    OK(pthread_cancel(thread));
    let_block();
    IS(passed, 0);
    pthread_barrier_wait(&barrier);
    CHECK(finish(thread) == PTHREAD_CANCELED);
    IS(passed, 1);
    OK(pthread_barrier_destroy(&barrier));
}

int main(void)
{
    return on_both(test);
}
