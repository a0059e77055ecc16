/* posix_spawnp, system, execv: what the thread blocks, and is pending, stays so while a program is started. */
#include "../check.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static void *nothing(void *unused)
{
    return unused;
}

static void *starts(void *unused)
{
    char *words[] = {"true", NULL};
    pid_t child;
    int status = -1;
    OK(posix_spawnp(&child, "true", NULL, NULL, words, environ));
    IS(waitpid(child, &status, 0), child);
    OK(status);
    OK(system("true"));
    FAILS(execv("/there/is/none", words), ENOENT);
    return unused;
}

int main(void)
{
    sigset_t set;
    int signal = 0;
    watch();
    /* From here on, threads have other masks than those that were there at first. */
    finish(start(nothing, NULL));
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    OK(kill(getpid(), SIGUSR1));
    finish(start(starts, NULL));
    OK(sigwait(&set, &signal));
    IS(signal, SIGUSR1);
    return 0;
}
