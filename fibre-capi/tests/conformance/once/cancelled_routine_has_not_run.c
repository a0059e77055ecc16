/* pthread_once: if the routine is cancelled, it is as if it had never been called: the next caller runs it. */
#include "../check.h"

static pthread_once_t control;
static atomic_int runs, finished;

static void initialise(void)
{
    if (runs++ == 0)
        sleep(WATCHDOG);
    finished++;
}

static void *call(void *unused)
{
    OK(pthread_once(&control, initialise));
    return unused;
}

static void test(void)
{
    control = (pthread_once_t)PTHREAD_ONCE_INIT;
    runs = finished = 0;
    pthread_t first = start(call, NULL);
    AWAIT(runs == 1);
    pthread_t second = start(call, NULL);
    let_block();
    OK(pthread_cancel(first));
    CHECK(finish(first) == PTHREAD_CANCELED);
    CHECK(finish(second) == NULL);
    IS(runs, 2);
    IS(finished, 1);
}

int main(void)
{
    return on_both(test);
}
