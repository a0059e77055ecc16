/* pthread_cleanup_push: handlers run last pushed first when the thread is cancelled, with their arguments. */
#include "../check.h"

static int order[4], steps;

static void clean(void *number)
{
    order[steps++] = (int)(intptr_t)number;
}

static void inner(void)
{
    pthread_cleanup_push(clean, (void *)3);
    for (;;)
        sleep(WATCHDOG);
    pthread_cleanup_pop(0);
}

static void *run(void *unused)
{
    pthread_cleanup_push(clean, (void *)1);
    pthread_cleanup_push(clean, (void *)2);
    inner();
    pthread_cleanup_pop(1);
    pthread_cleanup_pop(1);
    return unused;
}

static void test(void)
{
    steps = 0;
    pthread_t thread = start(run, NULL);
    let_block();
    OK(pthread_cancel(thread));
    CHECK(finish(thread) == PTHREAD_CANCELED);
    IS(steps, 3);
    for (int i = 0; i < 3; i++)
        IS(order[i], 3 - i);
}

int main(void)
{
    return on_both(test);
}
