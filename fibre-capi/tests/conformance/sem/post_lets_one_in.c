/* sem_post: lets exactly one of the threads that wait go on. */
#include "../check.h"

#define THREADS 10

static sem_t sem;
static atomic_int served;

static void *wait_for_it(void *unused)
{
    OK(sem_wait(&sem));
    served++;
    return unused;
}

static void test(void)
{
    pthread_t threads[THREADS];
    served = 0;
    OK(sem_init(&sem, 0, 0));
    for (int i = 0; i < THREADS; i++)
        threads[i] = start(wait_for_it, NULL);
    for (int i = 1; i <= THREADS; i++) {
        OK(sem_post(&sem));
        AWAIT(served == i);
        if (i % 4 == 0)
            let_block();
        IS(served, i);
    }
    for (int i = 0; i < THREADS; i++)
        finish(threads[i]);
    OK(sem_destroy(&sem));
}

int main(void)
{
    return on_both(test);
}
