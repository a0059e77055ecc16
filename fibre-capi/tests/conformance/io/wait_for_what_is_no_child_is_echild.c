/* waitpid, waitid: ECHILD at once for a process that is no child; EINVAL for options that do not exist. */
#include "../check.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static void test(void)
{
    siginfo_t information;
    int status;
    FAILS(waitpid(getppid(), &status, 0), ECHILD);
    FAILS(waitpid(getpid(), &status, 0), ECHILD);
    FAILS(waitid(P_PID, getppid(), &information, WEXITED), ECHILD);
    char *words[] = {"sh", "-c", "read line; exit 3", NULL};
    int ends[2];
    posix_spawn_file_actions_t actions;
    pid_t child;
    OK(pipe2(ends, O_CLOEXEC));
    OK(posix_spawn_file_actions_init(&actions));
    OK(posix_spawn_file_actions_adddup2(&actions, ends[0], 0));
    OK(posix_spawn(&child, "/bin/sh", &actions, NULL, words, environ));
    FAILS(waitpid(child, &status, 1 << 20), EINVAL);
    FAILS(waitid(P_PID, child, &information, 0), EINVAL);
    IS(waitpid(child, &status, WNOHANG), 0);
    OK(close(ends[0]));
    OK(close(ends[1]));
    OK(waitid(P_PID, child, &information, WEXITED | WNOWAIT));
    IS(information.si_pid, child);
    OK(waitid(P_PID, child, NULL, WEXITED));
    FAILS(waitid(P_PID, child, NULL, WEXITED), ECHILD);
    OK(posix_spawn_file_actions_destroy(&actions));
}

int main(void)
{
    return on_both(test);
}
