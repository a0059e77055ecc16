/* pthread_cancel: with the type deferred, a thread goes on until it calls a cancellation point. */
#include "../check.h"

static atomic_int begun, asked, went_on;

static void *run(void *unused)
{
    begun = 1;
    AWAIT(asked);
    for (volatile int i = 0; i < 100000; i++)
        ;
    went_on = 1;
    pthread_testcancel();
    went_on = 2;
    return unused;
}

static void test(void)
{
    begun = asked = went_on = 0;
    pthread_t thread = start(run, NULL);
    AWAIT(begun);
    OK(pthread_cancel(thread));
    asked = 1;
    CHECK(finish(thread) == PTHREAD_CANCELED);
    IS(went_on, 1);
}

int main(void)
{
    return on_both(test);
}
