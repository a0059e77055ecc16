/* pthread_cancel, pthread_kill: ESRCH for the handle of a detached thread that has ended. */
#include "../check.h"

static atomic_int ended;

static void *run(void *unused)
{
    OK(pthread_detach(pthread_self()));
    ended = 1;
    return unused;
}

static void test(void)
{
    int result;
    ended = 0;
    pthread_t thread = start(run, NULL);
    AWAIT(ended);
    while ((result = pthread_kill(thread, 0)) == 0)
        sched_yield();
    IS(result, ESRCH);
    IS(pthread_cancel(thread), ESRCH);
}

int main(void)
{
    return on_both(test);
}
