/* pthread_key_create: no destructor for threads that have set nothing, or NULL at last. */
#include "../check.h"

static pthread_key_t key;

static void destroy(void *value)
{
    CHECK(!value && "never called");
    CHECK(value);
}

static void *set(void *set_and_reset)
{
    if (set_and_reset) {
        OK(pthread_setspecific(key, set_and_reset));
        OK(pthread_setspecific(key, NULL));
        CHECK(pthread_getspecific(key) == NULL);
    }
    return NULL;
}

static void test(void)
{
    OK(pthread_key_create(&key, destroy));
    finish(start(set, NULL));
    finish(start(set, &key));
    OK(pthread_key_delete(key));
}

int main(void)
{
    return on_both(test);
}
