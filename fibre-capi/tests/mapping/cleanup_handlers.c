/* pthread_cleanup_push, pthread_cleanup_pop: handlers run last first at the end of a thread, and when they are popped with 1. */
/* flags: -O2 */
/* flags: -O0 -fexceptions */
#include "../conformance/check.h"

static char trace[16];

static void note(void *letter)
{
    strcat(trace, letter);
}

/* Ends in the innermost block, from a function of its own. */
static void leave(void *how)
{
    pthread_cleanup_push(note, "c");
    if (how)
        pthread_exit("gone");
    pthread_testcancel();
    pthread_cleanup_pop(1);
}

static void *run(void *how)
{
    pthread_cleanup_push(note, "a");
    pthread_cleanup_push(note, "x");
    pthread_cleanup_pop(0);
    pthread_cleanup_push(note, "b");
    pthread_cleanup_push(note, "y");
    pthread_cleanup_pop(1);
    leave(how);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(1);
    return "done";
}

static void *cancel_oneself(void *unused)
{
    OK(pthread_cancel(pthread_self()));
    return run(unused);
}

static void test(void)
{
    trace[0] = '\0';
    OK(strcmp(finish(start(run, NULL)), "done"));
    OK(strcmp(trace, "yca"));
    trace[0] = '\0';
    OK(strcmp(finish(start(run, "now")), "gone"));
    OK(strcmp(trace, "ycba"));
    trace[0] = '\0';
    CHECK(finish(start(cancel_oneself, NULL)) == PTHREAD_CANCELED);
    OK(strcmp(trace, "ycba"));
}

int main(void)
{
    return on_both(test);
}
