/* pthread_exit: in a signal handler that runs on a thread of the library, or on the one that serves main, ends the process with a message that names the
 * call. */
/* flags: -O2 */
/* flags: -DFIBRE_MAIN */
#include "../check.h"

#include <sys/wait.h>

static sem_t ready;
static sigset_t set;

static void leave(int signal)
{
    (void)signal;
    pthread_exit(NULL);
}

static void *let_in(void *unused)
{
    OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
    OK(sem_post(&ready));
    sleep(1000);
    return unused;
}

/* What the program does as its own child: the signal comes to the thread that has the handler run. */
static int leave_in_handler(int on_main)
{
    signal(SIGUSR1, leave);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    OK(pthread_sigmask(on_main ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL));
    OK(sem_init(&ready, 0, 0));
    start(let_in, NULL);
    OK(sem_wait(&ready));
    OK(kill(getpid(), SIGUSR1));
    sleep(1000);
    return 0;
}

/* Runs this program with an argument; its standard error must have the words, and SIGABRT end it. */
static void ends_with(char *program, char *argument, const char *words)
{
    char text[4000] = "";
    size_t length = 0;
    int ends[2], status;
    OK(pipe(ends));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(ends[1], 2);
        execl(program, program, argument, (char *)NULL);
        _exit(99);
    }
    OK(close(ends[1]));
    for (ssize_t count; length < sizeof text - 1 && (count = read(ends[0], text + length, sizeof text - 1 - length)) > 0;)
        length += count;
    OK(close(ends[0]));
    IS(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK(strstr(text, "pthread_exit") && strstr(text, words));
}

int main(int count, char **arguments)
{
    watch();
    if (count > 1)
        return leave_in_handler(arguments[1][0] == 'm');
    ends_with(arguments[0], "thread", "fibre/signals");
#ifdef FIBRE_MAIN
    ends_with(arguments[0], "main", "\"main\"");
#endif
    return 0;
}
