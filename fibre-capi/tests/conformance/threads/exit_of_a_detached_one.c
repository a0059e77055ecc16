/* pthread_exit: ends a detached thread, too. */
#include "../check.h"

static atomic_int ended;

static void at_end(void *unused)
{
    (void)unused;
    ended++;
}

static void *run(void *unused)
{
    OK(pthread_detach(pthread_self()));
    pthread_cleanup_push(at_end, NULL);
    sched_yield();
    pthread_exit(unused);
    pthread_cleanup_pop(0);
    return unused;
}

static void test(void)
{
    ended = 0;
    for (int i = 0; i < 20; i++)
        start(run, NULL);
    AWAIT(ended == 20);
}

int main(void)
{
    return on_both(test);
}
