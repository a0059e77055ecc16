/* sem_timedwait: 0 if posted before the deadline. */
#include "../check.h"

static sem_t sem;
static atomic_int waiting, posted;

static void *wait_for_it(void *unused)
{
    struct timespec late = in_ms(CLOCK_REALTIME, 20000);
    waiting = 1;
    OK(sem_timedwait(&sem, &late));
    IS(posted, 1);
    CHECK(!is_past(CLOCK_REALTIME, late));
    return unused;
}

static void test(void)
{
    waiting = posted = 0;
    OK(sem_init(&sem, 0, 0));
    pthread_t thread = start(wait_for_it, NULL);
    AWAIT(waiting);
    let_block();
    posted = 1;
    OK(sem_post(&sem));
    finish(thread);
    OK(sem_destroy(&sem));
}

int main(void)
{
    return on_both(test);
}
