/* exit: in any thread ends the program with that code, though 1,000 threads wait; handlers of atexit run. */
#include "../check.h"

/* ends: exit 8 */

#define THREADS 1000

static sem_t never;
static atomic_int alive;

static void at_exit(void)
{
    if (alive != THREADS)
        _exit(1);
    alive = 0;
}

static void at_exit_later(void)
{
    if (alive != 0)
        _exit(1);
}

static void *wait_for_ever(void *unused)
{
    alive++;
    sem_wait(&never);
    return unused;
}

static void *end_all(void *unused)
{
    AWAIT(alive == THREADS);
    exit(8);
    return unused;
}

int main(void)
{
    watch();
    OK(atexit(at_exit_later));
    OK(atexit(at_exit));
    OK(sem_init(&never, 0, 0));
    for (int i = 0; i < THREADS; i++)
        start(wait_for_ever, NULL);
    finish(start(end_all, NULL));
    return 0;
}
