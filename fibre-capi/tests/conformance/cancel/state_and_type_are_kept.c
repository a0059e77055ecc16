/* pthread_setcancelstate, pthread_setcanceltype: enabled and deferred at first; give the old value; EINVAL for unknown ones. */
#include "../check.h"

static void *run(void *unused)
{
    int old = -1;
    OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
    IS(old, PTHREAD_CANCEL_ENABLE);
    OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
    IS(old, PTHREAD_CANCEL_DISABLE);
    IS(pthread_setcancelstate(77, &old), EINVAL);
    OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL));
    OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old));
    IS(old, PTHREAD_CANCEL_DEFERRED);
    IS(pthread_setcanceltype(77, &old), EINVAL);
    OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL));
    return unused;
}

static void test(void)
{
    run(NULL);
    CHECK(finish(start(run, NULL)) == NULL);
}

int main(void)
{
    return on_both(test);
}
