/* posix_spawn, posix_spawnp, system, popen, pclose: the program blocks the signals that its creator blocks, and no others. */
#include "../check.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

/* Ends by the signal, unless that is blocked. */
#define SCRIPT "kill -TERM $$; exit 3"

static char *script[] = {"sh", "-c", SCRIPT, NULL};

static void ended_by_signal(int status)
{
    CHECK(WIFSIGNALED(status));
    IS(WTERMSIG(status), SIGTERM);
}

static int status_of(pid_t child)
{
    int status = 0;
    IS(waitpid(child, &status, 0), child);
    return status;
}

static void test(void)
{
    pid_t child;
    OK(posix_spawn(&child, "/bin/sh", NULL, NULL, script, environ));
    ended_by_signal(status_of(child));

    /* As another process sends it. */
    char *sleeper[] = {"sleep", "20", NULL};
    OK(posix_spawnp(&child, "sleep", NULL, NULL, sleeper, environ));
    OK(kill(child, SIGTERM));
    ended_by_signal(status_of(child));

    ended_by_signal(system(SCRIPT));
    FILE *stream = popen(SCRIPT, "r");
    CHECK(stream != NULL);
    ended_by_signal(pclose(stream));

    /* What attributes say counts. */
    posix_spawnattr_t attributes;
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    OK(posix_spawnattr_init(&attributes));
    OK(posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK));
    OK(posix_spawnattr_setsigmask(&attributes, &blocked));
    OK(posix_spawn(&child, "/bin/sh", NULL, &attributes, script, environ));
    IS(WEXITSTATUS(status_of(child)), 3);
    OK(posix_spawnattr_destroy(&attributes));
    IS(posix_spawn(&child, "/nowhere", NULL, NULL, script, environ), ENOENT);
}

int main(void)
{
    return on_both(test);
}
