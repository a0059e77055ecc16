/* pthread_sigmask, kill: a signal that only one thread lets in is handled, though the thread ends or blocks it again at once: by
 * pthread_sigmask, and whether it returns or calls pthread_exit. */
/* flags: -O2 */
/* flags: -DFIBRE_MAIN */
#include "../check.h"

static atomic_int handled;
static sem_t ready, sent;
static sigset_t set;

static void handle(int signal)
{
    (void)signal;
    handled++;
}

static void wait_for(sem_t *permit)
{
    while (sem_wait(permit))
        IS(errno, EINTR);
}

/* Lets the signal in until it has been sent. */
static void *let_in(void *way)
{
    OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
    OK(sem_post(&ready));
    wait_for(&sent);
    if ((intptr_t)way == 1)
        OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    if ((intptr_t)way == 2)
        pthread_exit(way);
    return way;
}

static void test(void)
{
    for (intptr_t turn = 0; turn < 200; turn++) {
        int before = handled;
        pthread_t thread = start(let_in, (void *)(turn % 3));
        wait_for(&ready);
        OK(kill(getpid(), SIGUSR1));
        OK(sem_post(&sent));
        finish(thread);
        AWAIT(handled == before + 1);
    }
}

int main(void)
{
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    signal(SIGUSR1, handle);
    OK(sem_init(&ready, 0, 0));
    OK(sem_init(&sent, 0, 0));
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    return on_both(test);
}
