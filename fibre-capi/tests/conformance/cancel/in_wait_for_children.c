/* pthread_cancel, wait, waitpid, waitid: a cancelled thread ends in them while it waits for any child, for one, or for one of a group, and reaps none. */
#include "../check.h"

#include <sys/wait.h>

static pid_t child;

static void *wait_for_any(void *unused)
{
    wait(NULL);
    return unused;
}

static void *wait_for_group(void *unused)
{
    waitpid(-getpgrp(), NULL, 0);
    return unused;
}

static void *wait_for_one(void *unused)
{
    waitpid(child, NULL, 0);
    return unused;
}

static void *wait_for_stops(void *unused)
{
    waitpid(child, NULL, WUNTRACED);
    return unused;
}

static void *wait_by_id(void *unused)
{
    siginfo_t found;
    waitid(P_ALL, 0, &found, WEXITED);
    return unused;
}

static void test(void)
{
    static void *(*const routines[])(void *) = {wait_for_any, wait_for_group, wait_for_one, wait_for_stops, wait_by_id};
    int status = -1;
    for (size_t i = 0; i < sizeof routines / sizeof *routines; i++) {
        pthread_t thread = start(routines[i], NULL);
        let_block();
        OK(pthread_cancel(thread));
        CHECK(finish(thread) == PTHREAD_CANCELED);
    }
    OK(kill(child, SIGKILL));
    IS(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status));
}

/* A child that lives until it is killed. */
static void have_child(void)
{
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(WATCHDOG);
        for (;;)
            pause();
    }
}

static void *test_in_thread(void *unused)
{
    test();
    return unused;
}

int main(void)
{
    watch();
    have_child();
    pid_t first = child;
    have_child();
    test();
    role = "created thread";
    child = first;
    finish(start(test_in_thread, NULL));
    return 0;
}
