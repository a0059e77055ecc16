/* pthread_mutex_lock: the owner of a recursive mutex stays the owner while it sleeps and yields. */
#include "../check.h"

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void *hold(void *unused)
{
    for (int round = 0; round < 5; round++) {
        OK(pthread_mutex_lock(&mutex));
        let_block();
        OK(pthread_mutex_lock(&mutex));
        sched_yield();
        OK(pthread_mutex_unlock(&mutex));
        OK(pthread_mutex_unlock(&mutex));
    }
    return unused;
}

static void test(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        threads[i] = start(hold, NULL);
    for (int i = 0; i < 3; i++)
        finish(threads[i]);
}

int main(void)
{
    return on_both(test);
}
