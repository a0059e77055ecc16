/* pthread_cancel, sem_wait, sem_timedwait, sem_clockwait: a wait for a semaphore of several processes that is cancelled, or runs out of time, takes no permit. */
#include "shared.h"

#define THREADS 12

static sem_t *sem;
static atomic_int taken, late;

static void *wait_for_one(void *number)
{
    struct timespec at = in_ms((intptr_t)number % 3 == 1 ? CLOCK_REALTIME : CLOCK_MONOTONIC, 5 + (intptr_t)number % 4);
    struct timespec never = in_ms(CLOCK_REALTIME, 20000);
    int result;
    switch ((intptr_t)number % 4) {
    case 0:
        result = sem_wait(sem);
        break;
    case 1:
        result = sem_timedwait(sem, &never);
        break;
    case 2:
        result = sem_clockwait(sem, CLOCK_MONOTONIC, &at);
        break;
    default:
        result = sem_wait(sem);
        break;
    }
    if (result == 0)
        taken++;
    else {
        IS(errno, ETIMEDOUT);
        late++;
    }
    return NULL;
}

static void test(void)
{
    pthread_t threads[THREADS];
    sem = share(sizeof *sem);
    OK(sem_init(sem, 1, 0));
    for (int round = 0; round < 10; round++) {
        int cancelled = 0, value = -1;
        taken = late = 0;
        for (intptr_t i = 0; i < THREADS; i++)
            threads[i] = start(wait_for_one, (void *)i);
        if (round % 2)
            let_block();
        for (int i = 0; i < THREADS; i++) {
            if (i % 2)
                OK(pthread_cancel(threads[i]));
            else
                OK(sem_post(sem));
        }
        for (int i = 1; i < THREADS; i += 2)
            cancelled += finish(threads[i]) == PTHREAD_CANCELED;
        /* Those that were cancelled too late may have taken others' permits. */
        for (int i = 0; i < THREADS; i += 2)
            OK(sem_post(sem));
        for (int i = 0; i < THREADS; i += 2)
            CHECK(finish(threads[i]) == NULL);
        OK(sem_getvalue(sem, &value));
        IS(taken + late + cancelled, THREADS);
        IS(value, THREADS - taken);
        while (value-- > 0)
            OK(sem_trywait(sem));
    }
    OK(sem_destroy(sem));
}

int main(void)
{
    return on_both(test);
}
