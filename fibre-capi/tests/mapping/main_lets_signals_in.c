/* main: as the first fibre it says what signals the process lets in; its thread waits for the others. */
/* flags: -DFIBRE_MAIN */
#include "../conformance/check.h"

static sigset_t set;
static atomic_int handled, waiting;

static void note(int signal)
{
    handled += signal;
}

static void *take(void *unused)
{
    int signal = 0;
    waiting = 1;
    OK(sigwait(&set, &signal));
    IS(signal, SIGUSR1);
    return unused;
}

int main(void)
{
    watch();
    signal(SIGUSR1, note);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    for (int i = 1; i <= 20; i++) {
        OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
        pthread_t taker = start(take, NULL);
        AWAIT(waiting);
        let_block();
        OK(kill(getpid(), SIGUSR1));
        finish(taker);
        OK(kill(getpid(), SIGUSR1));
        let_block();
        IS(handled, (i - 1) * SIGUSR1);
        OK(sigprocmask(SIG_UNBLOCK, &set, NULL));
        AWAIT(handled == i * SIGUSR1);
    }
    return 0;
}
