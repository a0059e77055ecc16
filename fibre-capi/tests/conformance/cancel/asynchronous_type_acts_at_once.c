/* pthread_setcanceltype, pthread_setcancelstate, pthread_cancel: a request that is pending acts in the call that makes the type asynchronous, or
 * that enables it; and one to oneself at once. */
#include "../check.h"

/* Which call it is. */
enum { OF_TYPE, OF_STATE, OF_CANCEL };

static const int numbers[] = {OF_TYPE, OF_STATE, OF_CANCEL};
static int cleaned;

static void clean(void *place)
{
    *(int *)place += 1;
}

static void *run(void *number)
{
    int which = *(const int *)number;
    pthread_cleanup_push(clean, &cleaned);
    if (which != OF_CANCEL) {
        OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
        OK(pthread_cancel(pthread_self()));
    }
    if (which == OF_TYPE)
        OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL));
    OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
    if (which == OF_STATE)
        OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL));
    if (which == OF_CANCEL)
        OK(pthread_cancel(pthread_self()));
    pthread_cleanup_pop(0);
    return number;
}

static void test(void)
{
    cleaned = 0;
    for (int i = 0; i < 3; i++)
        CHECK(finish(start(run, (void *)&numbers[i])) == PTHREAD_CANCELED);
    IS(cleaned, 3);
}

int main(void)
{
    return on_both(test);
}
