/* pthread_key_create: 5,000 keys at once, each with its value. */
#include "../check.h"

#define KEYS 5000

static pthread_key_t keys[KEYS];
static atomic_int destroyed;

static void destroy(void *value)
{
    CHECK(value);
    destroyed++;
}

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
    static char values[2][KEYS];
    destroyed = 0;
    for (int i = 0; i < KEYS; i++)
        OK(pthread_key_create(&keys[i], destroy));
    pthread_t threads[2] = {start(use, values[0]), start(use, values[1])};
    finish(threads[0]);
    finish(threads[1]);
    IS(destroyed, 2 * KEYS);
    for (int i = 0; i < KEYS; i++)
        OK(pthread_key_delete(keys[i]));
}

int main(void)
{
    return on_both(test);
}
