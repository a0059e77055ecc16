/* sigwait: takes SIGABRT, SIGPROF and their like, if they were blocked before threads were created. */
#include "../check.h"

static int signals[] = {SIGABRT, SIGPROF, SIGTRAP, SIGSYS, SIGILL, SIGFPE};
#define SIGNALS 6

static sigset_t set;

static void *waits(void *unused)
{
    for (int i = 0; i < SIGNALS; i++) {
        int taken = 0;
        OK(sigwait(&set, &taken));
        IS(taken, signals[i]);
    }
    return unused;
}

static void *computes(void *unused)
{
    return unused;
}

static void test(void)
{
    pthread_t waiter = start(waits, NULL);
    for (int i = 0; i < SIGNALS; i++) {
        let_block();
        OK(kill(getpid(), signals[i]));
        finish(start(computes, NULL));
        sigset_t pending;
        do {
            sched_yield();
            OK(sigpending(&pending));
        } while (sigismember(&pending, signals[i]));
    }
    finish(waiter);
}

int main(void)
{
    OK(sigemptyset(&set));
    for (int i = 0; i < SIGNALS; i++)
        OK(sigaddset(&set, signals[i]));
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    return on_both(test);
}
