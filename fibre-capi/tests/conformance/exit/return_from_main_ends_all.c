/* main: its return ends the program with that code, though 1,000 threads wait or run. */
#include "../check.h"

/* ends: exit 7 */

#define THREADS 1000

static sem_t never;
static atomic_int alive;

static void *run(void *kind)
{
    alive++;
    switch ((intptr_t)kind) {
    case 0:
        sem_wait(&never);
        break;
    case 1:
        sleep(WATCHDOG);
        break;
    default:
        for (;;)
            sched_yield();
    }
    return NULL;
}

int main(void)
{
    watch();
    OK(sem_init(&never, 0, 0));
    for (intptr_t i = 0; i < THREADS; i++)
        OK(pthread_detach(start(run, (void *)(i < 990 ? i % 2 : 2))));
    AWAIT(alive == THREADS);
    return 7;
}
