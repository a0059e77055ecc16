/* pthread_key_create: a key that is set in a destructor gets another round. */
#include "../check.h"

static pthread_key_t keys[2];
static int calls[2];

static void destroy_first(void *value)
{
    if (++calls[0] == 1)
        OK(pthread_setspecific(keys[0], value));
    OK(pthread_setspecific(keys[1], value));
}

static void destroy_second(void *value)
{
    calls[1]++;
    IS((intptr_t)value, 42);
}

static void *set(void *value)
{
    OK(pthread_setspecific(keys[0], value));
    return NULL;
}

static void test(void)
{
    calls[0] = calls[1] = 0;
    OK(pthread_key_create(&keys[0], destroy_first));
    OK(pthread_key_create(&keys[1], destroy_second));
    finish(start(set, (void *)42));
    IS(calls[0], 2);
    IS(calls[1], 2);
    OK(pthread_key_delete(keys[0]));
    OK(pthread_key_delete(keys[1]));
}

int main(void)
{
    return on_both(test);
}
