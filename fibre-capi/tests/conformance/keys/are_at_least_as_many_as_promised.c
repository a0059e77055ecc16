/* PTHREAD_KEYS_MAX: 1,000 keys at once, each with its value. */
#include "../check.h"

#define KEYS 1000

static pthread_key_t keys[KEYS];

static void *use(void *base)
{
    char *values = base;
    for (int i = 0; i < KEYS; i++)
        OK(pthread_setspecific(keys[i], values + i));
    sched_yield();
    for (int i = 0; i < KEYS; i++)
        CHECK(pthread_getspecific(keys[i]) == values + i);
    return NULL;
}

static void test(void)
{
    static char values[3][KEYS];
    CHECK(PTHREAD_KEYS_MAX >= KEYS);
    for (int i = 0; i < KEYS; i++)
        OK(pthread_key_create(&keys[i], NULL));
    pthread_t threads[2] = {start(use, values[0]), start(use, values[1])};
    use(values[2]);
    finish(threads[0]);
    finish(threads[1]);
    for (int i = 0; i < KEYS; i++)
        OK(pthread_key_delete(keys[i]));
}

int main(void)
{
    return on_both(test);
}
