/* pthread_create, pthread_join: 1,000 threads that are alive at once, joined in another order. */
#include "../check.h"

#define THREADS 1000

static atomic_int alive;
static sem_t release;

static void *linger(void *number)
{
    alive++;
    OK(sem_wait(&release));
    return number;
}

static void test(void)
{
    static pthread_t threads[THREADS];
    long sum = 0;
    alive = 0;
    OK(sem_init(&release, 0, 0));
    for (intptr_t i = 0; i < THREADS; i++)
        threads[i] = start(linger, (void *)i);
    AWAIT(alive == THREADS);
    for (int i = 0; i < THREADS; i++)
        OK(sem_post(&release));
    for (int i = 0; i < THREADS; i++)
        sum += (intptr_t)finish(threads[(i * 7) % THREADS]);
    IS(sum, THREADS * (THREADS - 1L) / 2);
}

int main(void)
{
    return on_both(test);
}
