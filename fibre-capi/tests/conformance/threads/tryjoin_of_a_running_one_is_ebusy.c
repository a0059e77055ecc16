/* pthread_tryjoin_np: EBUSY while the thread runs, then joins it. */
#include "../check.h"

static atomic_int release, released;

static void *linger(void *value)
{
    AWAIT(release);
    released = 1;
    return value;
}

static void test(void)
{
    void *value = NULL;
    int result;
    release = released = 0;
    pthread_t thread = start(linger, (void *)7);
    IS(pthread_tryjoin_np(thread, &value), EBUSY);
    release = 1;
    while ((result = pthread_tryjoin_np(thread, &value)) == EBUSY)
        sched_yield();
    OK(result);
    IS(released, 1);
    IS((intptr_t)value, 7);
}

int main(void)
{
    return on_both(test);
}
