/* pthread_setcanceltype: the asynchronous type is accepted and kept, and acts as the deferred one. */
#include "../check.h"

static atomic_int begun, asked, went_on;

static void *run(void *unused)
{
    int old = -1;
    OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old));
    IS(old, PTHREAD_CANCEL_DEFERRED);
    OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old));
    IS(old, PTHREAD_CANCEL_ASYNCHRONOUS);
    begun = 1;
    while (!asked)
        ;
    went_on = 1;
    pthread_testcancel();
    return unused;
}

/* The thread computes without a pause: on one processor only the initial thread can ask it. */
int main(void)
{
    watch();
    pthread_t thread = start(run, NULL);
    AWAIT(begun);
    OK(pthread_cancel(thread));
    asked = 1;
    CHECK(finish(thread) == PTHREAD_CANCELED);
    IS(went_on, 1);
    return 0;
}
