/* main, fork, daemon: a program that forks before it has threads, and goes on in the child, does so if main is a thread: without -DFIBRE_MAIN,
 * or if the environment says so. */
/* flags: -O2 */
/* flags: -DFIBRE_MAIN */
/* with: FIBRE_MAIN=0 */
#include "../conformance/check.h"

#include <sys/wait.h>

static void *run(void *unused)
{
    let_block();
    return unused;
}

/* As a daemon does: twice, and then threads. */
static int in_child(void)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child != 0) {
        int status = -1;
        IS(waitpid(child, &status, 0), child);
        return status;
    }
    watch();
    OK(daemon(1, 1));
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        threads[i] = start(run, NULL);
    for (int i = 0; i < 3; i++)
        CHECK(finish(threads[i]) == NULL);
    _exit(7);
}

/* The daemon is nobody's child, so it tells by a pipe when it has ended. */
int main(void)
{
    watch();
    int ends[2];
    char byte;
    OK(pipe(ends));
    if (fork() == 0)
        _exit(in_child());
    OK(close(ends[1]));
    IS(read(ends[0], &byte, 1), 0);
    int status = -1;
    CHECK(wait(&status) > 0);
    IS(status, 0);
    return 0;
}
