/* pthread_once: returns when the routine has, in whichever thread it runs. */
#include "../check.h"

static pthread_once_t control;
static atomic_int begun, done;

static void initialise(void)
{
    begun = 1;
    let_block();
    done = 1;
}

static void *call(void *unused)
{
    OK(pthread_once(&control, initialise));
    IS(done, 1);
    return unused;
}

static void test(void)
{
    pthread_t threads[4];
    control = (pthread_once_t)PTHREAD_ONCE_INIT;
    begun = done = 0;
    for (int i = 0; i < 4; i++)
        threads[i] = start(call, NULL);
    AWAIT(begun);
    call(NULL);
    for (int i = 0; i < 4; i++)
        finish(threads[i]);
}

int main(void)
{
    return on_both(test);
}
