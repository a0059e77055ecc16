/* errno: set by a failing call in the thread that made it, though others fail otherwise meanwhile. */
#include "../check.h"

static sem_t none;
static atomic_int failing;

static void *fail_by_semaphore(void *unused)
{
    failing++;
    for (int round = 0; round < 30; round++) {
        struct timespec soon = in_ms(CLOCK_REALTIME, 1);
        FAILS(sem_timedwait(&none, &soon), ETIMEDOUT);
        FAILS(sem_trywait(&none), EAGAIN);
    }
    return unused;
}

static void *fail_by_descriptor(void *unused)
{
    char byte;
    AWAIT(failing == 2);
    for (int round = 0; round < 30; round++) {
        FAILS(read(-1, &byte, 1), EBADF);
        sched_yield();
        IS(errno, EBADF);
    }
    return unused;
}

static void test(void)
{
    failing = 0;
    OK(sem_init(&none, 0, 0));
    pthread_t threads[4] = {start(fail_by_semaphore, NULL), start(fail_by_semaphore, NULL),
                            start(fail_by_descriptor, NULL), start(fail_by_descriptor, NULL)};
    for (int i = 0; i < 4; i++)
        finish(threads[i]);
    OK(sem_destroy(&none));
}

int main(void)
{
    return on_both(test);
}
