/* pthread_sigmask, kill: a signal that the initial thread blocks when others are there already, which let it in, is handled; SIGCHLD, too; and it is
 * pending when they have ended. */
/* flags: -O2 */
/* flags: -DFIBRE_MAIN */
#include "../check.h"

#include <sys/wait.h>

static atomic_int handled, over;

static void handle(int signal)
{
    (void)signal;
    handled++;
}

static void *run(void *unused)
{
    AWAIT(over);
    return unused;
}

int main(void)
{
    watch();
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGCHLD);
    signal(SIGUSR1, handle);
    signal(SIGCHLD, handle);
    pthread_t thread = start(run, NULL);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    for (int turn = 1; turn <= 20; turn++) {
        OK(kill(getpid(), SIGUSR1));
        AWAIT(handled == turn);
    }
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    AWAIT(handled == 21);
    IS(waitpid(child, NULL, 0), child);
    over = 1;
    finish(thread);
    OK(kill(getpid(), SIGUSR1));
    let_block();
    IS(handled, 21);
    OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
    AWAIT(handled == 22);
    return 0;
}
