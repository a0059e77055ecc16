/*
 * Calls in the child of a process that has threads, one child for each.
 *
 * In such a child nothing may hang. A call returns, whatever it returns, or it ends the process: in an
 * orderly way, or by SIGABRT with a word on standard error. The parent waits for no child longer than
 * LIMIT seconds, and names the call that took longer.
 */
#ifndef FORKED_H
#define FORKED_H

#include "check.h"

#include <poll.h>
#include <sys/wait.h>

/* How long a child may take, in seconds. */
#define LIMIT 10

/* A call, and its name in messages. */
struct call {
    const char *name;
    void (*make)(void);
};

/* Lists the call of a function of this name without arguments. */
#define CALL(name) {#name, name}

/* What the child has left for the parent, once it has returned from its call. */
#define RETURNED 7

/* Waits for a child; how it has ended. */
static inline int end_of(pid_t child, const char *name)
{
    int status;
    struct timespec limit = in_ms(CLOCK_MONOTONIC, LIMIT * 1000L), nap = {0, 500000};
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (is_past(CLOCK_MONOTONIC, limit)) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
            fprintf(stderr, "%s hangs in a forked child\n", name);
            return -1;
        }
        nanosleep(&nap, NULL);
    }
    return status;
}

/* Makes one call in a child; whether it went as it should. */
static inline int goes_well(const struct call *call)
{
    int ends[2];
    char word[200] = "";
    OK(pipe(ends));
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        call->make();
        _exit(RETURNED);
    }
    close(ends[1]);
    int status = end_of(child, call->name);
    /* Grandchildren may have the pipe yet. */
    struct pollfd written = {ends[0], POLLIN, 0};
    ssize_t length = poll(&written, 1, 0) == 1 ? read(ends[0], word, sizeof word - 1) : 0;
    close(ends[0]);
    if (status < 0)
        return 0;
    if (WIFEXITED(status) && (WEXITSTATUS(status) == RETURNED || WEXITSTATUS(status) == 0))
        return 1;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && length > 0)
        return 1;
    fprintf(stderr, "%s in a forked child: status %#x, said \"%s\"\n", call->name, status, word);
    return 0;
}

/* Makes each of these calls in a child of its own. */
static inline void each_in_a_child(const struct call *calls, size_t count)
{
    int wrong = 0;
    for (size_t one = 0; one < count; one++)
        wrong += !goes_well(&calls[one]);
    IS(wrong, 0);
}

#endif
