/* pthread_key_create, pthread_exit: one in a destructor ends that destructor; the other values' destructors are called all the same. */
#include "../check.h"

static pthread_key_t keys[3];
static atomic_int calls;

static void destroy(void *value)
{
    calls++;
    pthread_exit(value);
}

static void *run(void *unused)
{
    for (int i = 0; i < 3; i++)
        OK(pthread_setspecific(keys[i], &keys[i]));
    return unused;
}

static void test(void)
{
    calls = 0;
    for (int i = 0; i < 3; i++)
        OK(pthread_key_create(&keys[i], destroy));
    CHECK(finish(start(run, NULL)) != NULL);
    IS(calls, 3);
    for (int i = 0; i < 3; i++)
        OK(pthread_key_delete(keys[i]));
}

int main(void)
{
    return on_both(test);
}
