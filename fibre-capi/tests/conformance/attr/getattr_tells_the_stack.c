/* pthread_getattr_np: the stack that the thread runs on, of the size asked for, and whether it is detached. */
#include "../check.h"

static void *look(void *unused)
{
    pthread_attr_t attr;
    void *low = NULL;
    size_t size = 0;
    int value = -1;
    char here;
    OK(pthread_getattr_np(pthread_self(), &attr));
    OK(pthread_attr_getstack(&attr, &low, &size));
    CHECK((char *)low <= &here && &here < (char *)low + size);
    CHECK(size >= 900 << 10);
    OK(pthread_attr_getdetachstate(&attr, &value));
    IS(value, PTHREAD_CREATE_JOINABLE);
    OK(pthread_attr_destroy(&attr));
    return unused;
}

static void test(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setstacksize(&attr, 1 << 20));
    OK(pthread_create(&thread, &attr, look, NULL));
    finish(thread);
    OK(pthread_attr_destroy(&attr));
}

int main(void)
{
    return on_both(test);
}
