/* main, fork: in a child of main as the first fibre there are no threads to be had, which pthread_create says; all else goes on, and what main
 * returns is the code. */
/* only: ours */
/* flags: -DFIBRE_MAIN */
/* ends: exit 5 */
#include "../conformance/check.h"

#include <sys/wait.h>

static void *run(void *unused)
{
    return unused;
}

int main(void)
{
    watch();
    int ends[2], status = -1;
    char byte = 0;
    pthread_t thread;
    OK(pipe(ends));
    pid_t child = fork();
    if (child == 0) {
        watch();
        IS(pthread_create(&thread, NULL, run, NULL), ENOTSUP);
        IS(write(ends[1], "x", 1), 1);
        IS(read(ends[0], &byte, 1), 1);
        OK(usleep(1000));
        return byte == 'x' ? 7 : 8;
    }
    IS(waitpid(child, &status, 0), child);
    IS(WEXITSTATUS(status), 7);
    finish(start(run, NULL));
    return 5;
}
