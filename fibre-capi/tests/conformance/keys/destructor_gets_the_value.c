/* pthread_key_create: at a thread's end the destructor is called with its value, once, in that thread; the value is NULL then. */
#include "../check.h"

static pthread_key_t key;
static pthread_t ending;
static int calls;

static void destroy(void *value)
{
    calls++;
    IS((intptr_t)value, 42);
    CHECK(pthread_equal(pthread_self(), ending));
    CHECK(pthread_getspecific(key) == NULL);
    sched_yield();
    usleep(100);
    CHECK(pthread_equal(pthread_self(), ending));
}

static void *set(void *value)
{
    ending = pthread_self();
    OK(pthread_setspecific(key, value));
    return NULL;
}

static void test(void)
{
    calls = 0;
    OK(pthread_key_create(&key, destroy));
    finish(start(set, (void *)42));
    IS(calls, 1);
    OK(pthread_key_delete(key));
}

int main(void)
{
    return on_both(test);
}
