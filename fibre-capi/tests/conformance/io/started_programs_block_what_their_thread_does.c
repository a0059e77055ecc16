/* fork, execv, posix_spawn, system: the program blocks the signals that the thread blocks which starts it. */
#include "../check.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

/* Ends by the signal, unless that is blocked. */
#define SCRIPT "kill -TERM $$; exit 3"

static char *script[] = {"sh", "-c", SCRIPT, NULL};

static int status_of(pid_t child)
{
    int status = 0;
    IS(waitpid(child, &status, 0), child);
    return status;
}

static pid_t forked(void)
{
    pid_t child = fork();
    if (child == 0) {
        execv("/bin/sh", script);
        _exit(4);
    }
    return child;
}

static void *starts(void *blocking)
{
    sigset_t set;
    pid_t child;
    int by_signal = blocking == NULL;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    OK(pthread_sigmask(by_signal ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL));
    for (int turn = 0; turn < 3; turn++) {
        int status = turn == 0 ? system(SCRIPT) : 0;
        if (turn == 1) {
            OK(posix_spawn(&child, "/bin/sh", NULL, NULL, script, environ));
            status = status_of(child);
        } else if (turn == 2) {
            status = status_of(forked());
        }
        if (by_signal) {
            CHECK(WIFSIGNALED(status));
            IS(WTERMSIG(status), SIGTERM);
        } else {
            CHECK(WIFEXITED(status));
            IS(WEXITSTATUS(status), 3);
        }
        sched_yield();
    }
    return blocking;
}

static void test(void)
{
    pthread_t both[2];
    both[0] = start(starts, NULL);
    both[1] = start(starts, both);
    finish(both[0]);
    finish(both[1]);
}

int main(void)
{
    return on_both(test);
}
