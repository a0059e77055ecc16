/* pthread_key_create, pthread_cancel, pthread_setcancelstate: destructors are not cancelled, whatever they wait for and set. */
#include "../check.h"

static pthread_key_t key;
static atomic_int entered, cancelled, finished;

static void destroy(void *unused)
{
    int old;
    (void)unused;
    entered++;
    while (!cancelled)
        sched_yield();
    pthread_testcancel();
    usleep(1);
    OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
    OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL));
    pthread_testcancel();
    usleep(1);
    finished++;
}

static void *run(void *deaf)
{
    if (deaf)
        OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
    OK(pthread_setspecific(key, &key));
    return &finished;
}

static void test(void)
{
    OK(pthread_key_create(&key, destroy));
    for (int deaf = 0; deaf < 2; deaf++) {
        entered = cancelled = finished = 0;
        pthread_t thread = start(run, deaf ? &key : NULL);
        AWAIT(entered);
        OK(pthread_cancel(thread));
        cancelled = 1;
        CHECK(finish(thread) == &finished);
        IS(finished, 1);
    }
    OK(pthread_key_delete(key));
}

int main(void)
{
    return on_both(test);
}
