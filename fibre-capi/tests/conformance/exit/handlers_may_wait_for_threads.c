/* atexit, usleep, pthread_mutex_trylock: an exit handler may wait for what threads do, by whatever it looks at it. */
/* flags: -DPAUSE=usleep(1000) */
/* flags: -DPAUSE=sched_yield() */
/* flags: -DPAUSE=pthread_mutex_trylock(&held) */
/* flags: -DPAUSE=sem_trywait(&none) */
/* flags: -DPAUSE=0 */
#include "../check.h"

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static sem_t none;
static atomic_int running, exiting, done;

static void at_exit(void)
{
    exiting = 1;
    while (!done)
        (void)PAUSE;
}

static void *run(void *unused)
{
    OK(pthread_mutex_lock(&held));
    running = 1;
    while (!exiting)
        sched_yield();
    done = 1;
    sleep(WATCHDOG);
    return unused;
}

int main(void)
{
    watch();
    OK(atexit(at_exit));
    OK(sem_init(&none, 0, 0));
    start(run, NULL);
    AWAIT(running);
    return 0;
}
