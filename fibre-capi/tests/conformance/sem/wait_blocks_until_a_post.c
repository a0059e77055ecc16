/* sem_wait: with the value 0, returns after a post of another thread. */
#include "../check.h"

static sem_t sem;
static atomic_int posted, waiting;

static void *wait_for_it(void *unused)
{
    waiting = 1;
    OK(sem_wait(&sem));
    IS(posted, 1);
    return unused;
}

static void test(void)
{
    posted = waiting = 0;
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
