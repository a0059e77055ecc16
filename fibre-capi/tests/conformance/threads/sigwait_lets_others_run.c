/* sigwait: returns the signal that is sent to the process, or is pending already; only its thread waits. */
#include "../check.h"

static sigset_t set;
static atomic_int waiting;

static void *wait_for_it(void *unused)
{
    int signal = 0;
    waiting = 1;
    OK(sigwait(&set, &signal));
    IS(signal, SIGUSR1);
    return unused;
}

static void *go_by(void *unused)
{
    let_block();
    return unused;
}

static void test(void)
{
    int signal = 0;
    waiting = 0;
    pthread_t waiter = start(wait_for_it, NULL);
    AWAIT(waiting);
    let_block();
    for (int i = 0; i < 10; i++)
        finish(start(go_by, NULL));
    OK(kill(getpid(), SIGUSR1));
    finish(waiter);
    OK(kill(getpid(), SIGUSR2));
    OK(kill(getpid(), SIGUSR2));
    OK(sigwait(&set, &signal));
    IS(signal, SIGUSR2);
}

int main(void)
{
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    return on_both(test);
}
