/* pthread_cancel: a thread may cancel itself; it ends at its next cancellation point. */
#include "../check.h"

static atomic_int went_on;

static void *run(void *unused)
{
    OK(pthread_cancel(pthread_self()));
    went_on = 1;
    pthread_testcancel();
    CHECK(!"cancelled by now");
    return unused;
}

static void test(void)
{
    went_on = 0;
    CHECK(finish(start(run, NULL)) == PTHREAD_CANCELED);
    IS(went_on, 1);
}

int main(void)
{
    return on_both(test);
}
