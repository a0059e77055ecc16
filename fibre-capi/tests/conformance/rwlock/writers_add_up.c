/* pthread_rwlock_wrlock, pthread_rwlock_unlock: at most one writer at a time, and no reader sees half of a change. */
#include "../check.h"

#define ROUNDS 300

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static long left, right;

static void *write_it(void *unused)
{
    for (int round = 0; round < ROUNDS; round++) {
        OK(pthread_rwlock_wrlock(&lock));
        left++;
        if (round % 8 == 0)
            sched_yield();
        right++;
        OK(pthread_rwlock_unlock(&lock));
    }
    return unused;
}

static void *read_it(void *unused)
{
    for (int round = 0; round < ROUNDS; round++) {
        OK(pthread_rwlock_rdlock(&lock));
        IS(left, right);
        OK(pthread_rwlock_unlock(&lock));
    }
    return unused;
}

static void test(void)
{
    pthread_t threads[8];
    left = right = 0;
    for (int i = 0; i < 8; i++)
        threads[i] = start(i % 2 ? write_it : read_it, NULL);
    for (int i = 0; i < 8; i++)
        finish(threads[i]);
    IS(left, 4 * ROUNDS);
}

int main(void)
{
    return on_both(test);
}
