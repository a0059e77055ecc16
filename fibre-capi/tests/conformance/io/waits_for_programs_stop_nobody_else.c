/* system, pclose, wait3: a thread waits for the end of a program while the others go on. */
#include "../check.h"

#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

extern char **environ;

/* The programs wait for a byte of this pipe. */
static int ends[2];
static char command[100];

static void *by_system(void *unused)
{
    OK(system(command));
    return unused;
}

static void *by_stream(void *unused)
{
    FILE *stream = popen(command, "r");
    CHECK(stream != NULL);
    OK(pclose(stream));
    return unused;
}

static void *by_wait(void *unused)
{
    char *words[] = {"sh", "-c", command, NULL};
    struct rusage usage;
    pid_t child;
    int status = -1;
    OK(posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ));
    IS(wait3(&status, 0, &usage), child);
    IS(status, 0);
    IS(wait3(&status, WNOHANG, NULL), -1);
    IS(errno, ECHILD);
    return unused;
}

static void test(void)
{
    void *(*waiters[])(void *) = {by_system, by_stream, by_wait};
    OK(pipe(ends));
    snprintf(command, sizeof command, "head -c 1 /proc/self/fd/%d > /dev/null", ends[0]);
    for (int i = 0; i < 3; i++) {
        pthread_t waiter = start(waiters[i], NULL);
        let_block();
        IS(write(ends[1], "x", 1), 1);
        finish(waiter);
    }
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
