/* sem_wait, sem_post: with the initial value N, at most N threads are between them. */
#include "../check.h"

#define THREADS 8
#define ROOM 3

static sem_t sem;
static atomic_int inside;

static void *pass(void *unused)
{
    for (int round = 0; round < 100; round++) {
        OK(sem_wait(&sem));
        CHECK(++inside <= ROOM);
        if (round % 4 == 0)
            sched_yield();
        inside--;
        OK(sem_post(&sem));
    }
    return unused;
}

static void test(void)
{
    pthread_t threads[THREADS];
    int value = 0;
    OK(sem_init(&sem, 0, ROOM));
    for (int i = 0; i < THREADS; i++)
        threads[i] = start(pass, NULL);
    for (int i = 0; i < THREADS; i++)
        finish(threads[i]);
    OK(sem_getvalue(&sem, &value));
    IS(value, ROOM);
    OK(sem_destroy(&sem));
}

int main(void)
{
    return on_both(test);
}
