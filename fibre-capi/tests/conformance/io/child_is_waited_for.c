/* waitpid: returns when the child has ended, with its status; ECHILD if there is none. */
#include "../check.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static void test(void)
{
    char *words[] = {"sh", "-c", "exit 7", NULL};
    pid_t child;
    int status = 0;
    OK(posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ));
    IS(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    IS(WEXITSTATUS(status), 7);
    FAILS(waitpid(child, &status, 0), ECHILD);
}

int main(void)
{
    return on_both(test);
}
