/* pthread_setspecific, pthread_getspecific: the value that the calling thread has set, over all waits. */
#include "../check.h"

static pthread_key_t key;

static void *keep(void *value)
{
    for (int round = 0; round < 20; round++) {
        OK(pthread_setspecific(key, (char *)value + round));
        sched_yield();
        CHECK(pthread_getspecific(key) == (char *)value + round);
    }
    usleep(1000);
    CHECK(pthread_getspecific(key) == (char *)value + 19);
    return NULL;
}

static void test(void)
{
    static char values[10][32];
    pthread_t threads[10];
    OK(pthread_key_create(&key, NULL));
    OK(pthread_setspecific(key, &key));
    for (int i = 0; i < 10; i++)
        threads[i] = start(keep, values[i]);
    for (int i = 0; i < 10; i++)
        finish(threads[i]);
    CHECK(pthread_getspecific(key) == &key);
    OK(pthread_key_delete(key));
}

int main(void)
{
    return on_both(test);
}
