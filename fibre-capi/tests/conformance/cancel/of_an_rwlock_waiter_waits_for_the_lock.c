/* pthread_rwlock_rdlock, pthread_rwlock_wrlock: no cancellation points here, as in glibc: the caller gets the lock. */
#include "../check.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int waiting, passed;

static void *run(void *write)
{
    waiting++;
    OK(write ? pthread_rwlock_wrlock(&lock) : pthread_rwlock_rdlock(&lock));
    passed++;
    OK(pthread_rwlock_unlock(&lock));
    pthread_testcancel();
    return NULL;
}

static void test(void)
{
    waiting = passed = 0;
    OK(pthread_rwlock_wrlock(&lock));
    pthread_t threads[2] = {start(run, NULL), start(run, &lock)};
    AWAIT(waiting == 2);
    let_block();
    OK(pthread_cancel(threads[0]));
    OK(pthread_cancel(threads[1]));
    let_block();
    IS(passed, 0);
    OK(pthread_rwlock_unlock(&lock));
    CHECK(finish(threads[0]) == PTHREAD_CANCELED);
    CHECK(finish(threads[1]) == PTHREAD_CANCELED);
    IS(passed, 2);
}

int main(void)
{
    return on_both(test);
}
