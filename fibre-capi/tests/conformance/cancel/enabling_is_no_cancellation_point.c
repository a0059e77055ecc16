/* pthread_setcancelstate, pthread_setcanceltype: with the deferred type neither call acts on a request that is pending. */
#include "../check.h"

static int reached;

static void *run(void *unused)
{
    int old = -1;
    OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
    OK(pthread_cancel(pthread_self()));
    OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
    OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old));
    IS(old, PTHREAD_CANCEL_ASYNCHRONOUS);
    OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
    IS(old, PTHREAD_CANCEL_DISABLE);
    OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL));
    reached = 1;
    pthread_testcancel();
    return unused;
}

static void test(void)
{
    reached = 0;
    CHECK(finish(start(run, NULL)) == PTHREAD_CANCELED);
    IS(reached, 1);
}

int main(void)
{
    return on_both(test);
}
