/* sigwait, sigtimedwait, pthread_sigmask: who waits for a signal gets it, while another thread lets others in. */
/* flags: -O2 */
/* flags: -DFIBRE_MAIN */
#include "../check.h"

static atomic_int handled, taken, begun, over;

/* How often each is sent. */
#define TURNS 50

static void handle(int signal)
{
    IS(signal, SIGUSR1);
    handled++;
}

static void *wait_for_it(void *unused)
{
    sigset_t set;
    int signal = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    for (int turn = 0; turn < TURNS; turn++) {
        OK(sigwait(&set, &signal));
        IS(signal, SIGUSR2);
        taken++;
    }
    struct timespec none = {0, 0};
    FAILS(sigtimedwait(&set, NULL, &none), EAGAIN);
    return unused;
}

static void *let_in(void *unused)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
    begun = 1;
    AWAIT(over);
    return unused;
}

int main(void)
{
    watch();
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    signal(SIGUSR1, handle);
    signal(SIGUSR2, handle);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    pthread_t waiting = start(wait_for_it, NULL), letting = start(let_in, NULL);
    AWAIT(begun);
    for (int turn = 1; turn <= TURNS; turn++) {
        OK(kill(getpid(), SIGUSR1));
        OK(kill(getpid(), SIGUSR2));
        AWAIT(handled == turn && taken == turn);
    }
    finish(waiting);
    over = 1;
    finish(letting);
    return 0;
}
