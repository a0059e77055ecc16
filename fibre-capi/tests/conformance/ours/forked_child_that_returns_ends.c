/* fork: a child that returns from the routine of its thread ends with 0, and one that returns from main with what that returns. */
/* ends: exit 5 */
/* flags: -O2 */
/* flags: -O2 -DFIBRE_MAIN */
#include "../check.h"

#include <sys/wait.h>

static pid_t forked;

static void *fork_and_return(void *unused)
{
    forked = fork();
    return unused;
}

static void *fork_and_exit(void *unused)
{
    forked = fork();
    pthread_exit(unused);
}

/* The code of the child that a thread forks. */
static int code_of_child(void *(*routine)(void *))
{
    int status;
    finish(start(routine, NULL));
    IS(waitpid(forked, &status, 0), forked);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

int main(void)
{
    int status;
    watch();
    IS(code_of_child(fork_and_return), 0);
    IS(code_of_child(fork_and_exit), 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        return 5;
    IS(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}
