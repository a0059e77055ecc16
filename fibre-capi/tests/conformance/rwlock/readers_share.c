/* pthread_rwlock_rdlock: several threads read-lock at once. */
#include "../check.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int inside;

static void *read_with_others(void *unused)
{
    OK(pthread_rwlock_rdlock(&lock));
    inside++;
    AWAIT(inside == 5);
    OK(pthread_rwlock_unlock(&lock));
    return unused;
}

static void test(void)
{
    pthread_t threads[5];
    inside = 0;
    for (int i = 0; i < 5; i++)
        threads[i] = start(read_with_others, NULL);
    for (int i = 0; i < 5; i++)
        finish(threads[i]);
}

int main(void)
{
    return on_both(test);
}
