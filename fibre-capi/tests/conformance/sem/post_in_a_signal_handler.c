/* sem_post: may be called in a signal handler. */
#include "../check.h"

static sem_t sem;

static void post_it(int signal)
{
    (void)signal;
    OK(sem_post(&sem));
}

static void *wait_for_it(void *unused)
{
    OK(sem_wait(&sem));
    return unused;
}

int main(void)
{
    watch();
    OK(sem_init(&sem, 0, 0));
    signal(SIGUSR1, post_it);
    OK(raise(SIGUSR1));
    OK(sem_trywait(&sem));
    for (int round = 0; round < 20; round++) {
        pthread_t thread = start(wait_for_it, NULL);
        if (round % 2)
            let_block();
        OK(raise(SIGUSR1));
        finish(thread);
    }
    return 0;
}
