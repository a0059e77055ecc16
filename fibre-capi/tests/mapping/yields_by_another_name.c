/* pthread_yield: lets others run, as sched_yield does. */
/* flags: -Wno-deprecated-declarations */
#include "../conformance/check.h"

static atomic_int done;

static void *run(void *unused)
{
    done = 1;
    return unused;
}

static void test(void)
{
    done = 0;
    pthread_t thread = start(run, NULL);
    do
        OK(pthread_yield());
    while (!done);
    finish(thread);
}

int main(void)
{
    return on_both(test);
}
