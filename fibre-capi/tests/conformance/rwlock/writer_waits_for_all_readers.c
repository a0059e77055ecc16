/* pthread_rwlock_wrlock: returns when the last reader has unlocked. */
#include "../check.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int readers, waiting;

static void *write_it(void *unused)
{
    waiting = 1;
    OK(pthread_rwlock_wrlock(&lock));
    IS(readers, 0);
    OK(pthread_rwlock_unlock(&lock));
    return unused;
}

static void *read_it(void *unused)
{
    OK(pthread_rwlock_rdlock(&lock));
    readers++;
    AWAIT(waiting);
    let_block();
    readers--;
    OK(pthread_rwlock_unlock(&lock));
    return unused;
}

static void test(void)
{
    pthread_t threads[3];
    readers = waiting = 0;
    for (int i = 0; i < 3; i++)
        threads[i] = start(read_it, NULL);
    AWAIT(readers == 3);
    pthread_t writer = start(write_it, NULL);
    finish(writer);
    for (int i = 0; i < 3; i++)
        finish(threads[i]);
}

int main(void)
{
    return on_both(test);
}
