/* pthread_rwlock_rdlock: returns when the writer has unlocked; all who wait get in. */
#include "../check.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int written, waiting;

static void *read_it(void *unused)
{
    waiting++;
    OK(pthread_rwlock_rdlock(&lock));
    IS(written, 1);
    OK(pthread_rwlock_unlock(&lock));
    return unused;
}

static void test(void)
{
    pthread_t threads[5];
    written = waiting = 0;
    OK(pthread_rwlock_wrlock(&lock));
    for (int i = 0; i < 5; i++)
        threads[i] = start(read_it, NULL);
    AWAIT(waiting == 5);
    let_block();
    written = 1;
    OK(pthread_rwlock_unlock(&lock));
    for (int i = 0; i < 5; i++)
        finish(threads[i]);
}

int main(void)
{
    return on_both(test);
}
