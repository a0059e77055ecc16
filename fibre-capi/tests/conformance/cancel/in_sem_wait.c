/* sem_wait, sem_timedwait: cancellation points; the value is not taken. */
#include "../check.h"

static sem_t sem;
static atomic_int waiting;

static void *run(void *timed)
{
    struct timespec late = in_ms(CLOCK_REALTIME, 20000);
    waiting = 1;
    OK(timed ? sem_timedwait(&sem, &late) : sem_wait(&sem));
    return NULL;
}

static void test(void)
{
    OK(sem_init(&sem, 0, 0));
    for (int round = 0; round < 4; round++) {
        int value = -1;
        waiting = 0;
        pthread_t thread = start(run, round % 2 ? &sem : NULL);
        AWAIT(waiting);
        if (round < 2)
            let_block();
        OK(pthread_cancel(thread));
        CHECK(finish(thread) == PTHREAD_CANCELED);
        OK(sem_getvalue(&sem, &value));
        IS(value, 0);
    }
    OK(sem_destroy(&sem));
}

int main(void)
{
    return on_both(test);
}
