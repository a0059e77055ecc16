/* pthread_rwlock_timedwrlock: after ETIMEDOUT readers get in as if nobody had waited. */
#include "../check.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *write_it(void *unused)
{
    struct timespec soon = in_ms(CLOCK_REALTIME, 20);
    IS(pthread_rwlock_timedwrlock(&lock, &soon), ETIMEDOUT);
    return unused;
}

static void *read_it(void *unused)
{
    OK(pthread_rwlock_rdlock(&lock));
    OK(pthread_rwlock_unlock(&lock));
    OK(pthread_rwlock_tryrdlock(&lock));
    OK(pthread_rwlock_unlock(&lock));
    return unused;
}

static void test(void)
{
    OK(pthread_rwlock_rdlock(&lock));
    pthread_t writer = start(write_it, NULL);
    let_block();
    pthread_t reader = start(read_it, NULL);
    finish(writer);
    finish(reader);
    finish(start(read_it, NULL));
    OK(pthread_rwlock_unlock(&lock));
}

int main(void)
{
    return on_both(test);
}
