/* fork: the child blocks what the thread does, from the first moment on. */
#include "../check.h"

#include <sys/wait.h>

static volatile int handled;

static void note(int signal)
{
    handled = signal;
}

static void begins(void)
{
    kill(getpid(), SIGUSR1);
}

static void *nothing(void *unused)
{
    return unused;
}

static void *forks(void *unused)
{
    sigset_t set;
    int status = -1, signal = 0;
    pid_t child = fork();
    if (child == 0) {
        OK(sigpending(&set));
        IS(sigismember(&set, SIGUSR1), 1);
        IS(handled, 0);
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        OK(sigwait(&set, &signal));
        _exit(signal);
    }
    IS(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    IS(WEXITSTATUS(status), SIGUSR1);
    return unused;
}

int main(void)
{
    sigset_t set;
    watch();
    signal(SIGUSR1, note);
    /* From here on, threads have other masks than those that were there at first. */
    finish(start(nothing, NULL));
    OK(pthread_atfork(NULL, NULL, begins));
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    finish(start(forks, NULL));
    return 0;
}
