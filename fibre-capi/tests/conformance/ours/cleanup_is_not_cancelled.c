/* pthread_cleanup_push, pthread_cancel, pthread_setcancelstate: cleanup handlers are not cancelled again, whatever they set. */
#include "../check.h"

static atomic_int waits, finished;

static void clean(void *unused)
{
    (void)unused;
    OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL));
    pthread_testcancel();
    usleep(1);
    finished++;
}

static void *run(void *unused)
{
    pthread_cleanup_push(clean, NULL);
    waits = 1;
    sleep(WATCHDOG);
    pthread_cleanup_pop(0);
    return unused;
}

static void test(void)
{
    waits = finished = 0;
    pthread_t thread = start(run, NULL);
    AWAIT(waits);
    OK(pthread_cancel(thread));
    CHECK(finish(thread) == PTHREAD_CANCELED);
    IS(finished, 1);
}

int main(void)
{
    return on_both(test);
}
