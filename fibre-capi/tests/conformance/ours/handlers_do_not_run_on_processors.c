/* pthread_sigmask: whatever a thread lets in, the handler of a signal to the process runs on the initial one. */
/* only: ours */
#include "../check.h"

static atomic_int handled;

static void note(int signal)
{
    IS(syscall(SYS_gettid), getpid());
    handled += signal;
}

static void *let_all_in(void *unused)
{
    sigset_t none, before;
    sigemptyset(&none);
    OK(pthread_sigmask(SIG_SETMASK, &none, &before));
    IS(sigismember(&before, SIGUSR2), 1);
    OK(pthread_sigmask(SIG_SETMASK, NULL, &before));
    IS(sigismember(&before, SIGUSR2), 0);
    for (int i = 1; i <= 20; i++) {
        OK(kill(getpid(), SIGUSR1));
        AWAIT(handled == i * SIGUSR1);
    }
    return unused;
}

int main(void)
{
    watch();
    sigset_t set;
    signal(SIGUSR1, note);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    finish(start(let_all_in, NULL));
    return 0;
}
