/* PTHREAD_DESTRUCTOR_ITERATIONS: a destructor that sets its key each time is called that often, and the thread ends. */
#include "../check.h"

static pthread_key_t key;
static int calls;

static void destroy(void *value)
{
    calls++;
    OK(pthread_setspecific(key, value));
}

static void *set(void *value)
{
    OK(pthread_setspecific(key, value));
    return value;
}

static void test(void)
{
    calls = 0;
    OK(pthread_key_create(&key, destroy));
    finish(start(set, &key));
    IS(calls, PTHREAD_DESTRUCTOR_ITERATIONS);
    OK(pthread_key_delete(key));
}

int main(void)
{
    return on_both(test);
}
