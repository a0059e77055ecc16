/* pthread_once: the routine runs in the first call, and in no other. */
#include "../check.h"

static pthread_once_t control;
static atomic_int runs;

static void initialise(void)
{
    runs++;
}

static void *call(void *unused)
{
    for (int i = 0; i < 10; i++) {
        OK(pthread_once(&control, initialise));
        IS(runs, 1);
    }
    return unused;
}

static void test(void)
{
    pthread_t threads[5];
    control = (pthread_once_t)PTHREAD_ONCE_INIT;
    runs = 0;
    for (int i = 0; i < 5; i++)
        threads[i] = start(call, NULL);
    for (int i = 0; i < 5; i++)
        finish(threads[i]);
    IS(runs, 1);
}

int main(void)
{
    return on_both(test);
}
