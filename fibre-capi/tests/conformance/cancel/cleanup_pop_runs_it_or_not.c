/* pthread_cleanup_pop: removes the last handler, and runs it if the argument is not 0. */
#include "../check.h"

static int runs[3];

static void clean(void *number)
{
    runs[(intptr_t)number]++;
}

static void *run(void *unused)
{
    pthread_cleanup_push(clean, (void *)0);
    pthread_cleanup_push(clean, (void *)1);
    pthread_cleanup_pop(1);
    IS(runs[1], 1);
    pthread_cleanup_push(clean, (void *)2);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(1);
    IS(runs[0], 1);
    return unused;
}

static void test(void)
{
    memset(runs, 0, sizeof runs);
    run(NULL);
    IS(runs[0] + runs[1], 2);
    memset(runs, 0, sizeof runs);
    finish(start(run, NULL));
    IS(runs[0], 1);
    IS(runs[1], 1);
    IS(runs[2], 0);
}

int main(void)
{
    return on_both(test);
}
