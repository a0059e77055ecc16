/* pthread_once: routines of different controls run each, also one inside another. */
#include "../check.h"

static pthread_once_t outer_control, inner_control;
static int outer_runs, inner_runs;

static void inner(void)
{
    inner_runs++;
}

static void outer(void)
{
    OK(pthread_once(&inner_control, inner));
    outer_runs++;
}

static void test(void)
{
    outer_control = inner_control = (pthread_once_t)PTHREAD_ONCE_INIT;
    outer_runs = inner_runs = 0;
    OK(pthread_once(&outer_control, outer));
    OK(pthread_once(&inner_control, inner));
    OK(pthread_once(&outer_control, outer));
    IS(outer_runs, 1);
    IS(inner_runs, 1);
}

int main(void)
{
    return on_both(test);
}
