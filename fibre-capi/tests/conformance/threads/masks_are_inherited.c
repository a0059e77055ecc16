/* pthread_sigmask, sigprocmask: a thread has a mask of its own, which it gets from its creator. */
#include "../check.h"

static sigset_t one, two;

static int blocks(int signal)
{
    sigset_t now;
    sigfillset(&now);
    OK(pthread_sigmask(SIG_BLOCK, NULL, &now));
    return sigismember(&now, signal);
}

static void *child(void *unused)
{
    sigset_t before;
    IS(blocks(SIGUSR1), 1);
    IS(blocks(SIGUSR2), 0);
    sched_yield();
    OK(pthread_sigmask(SIG_SETMASK, &two, &before));
    IS(sigismember(&before, SIGUSR1), 1);
    IS(blocks(SIGUSR1), 0);
    IS(blocks(SIGUSR2), 1);
    let_block();
    IS(blocks(SIGUSR2), 1);
    return unused;
}

static void test(void)
{
    sigset_t all, before;
    OK(pthread_sigmask(SIG_BLOCK, &one, &before));
    IS(sigismember(&before, SIGUSR1), 0);
    pthread_t created = start(child, NULL);
    let_block();
    IS(blocks(SIGUSR1), 1);
    IS(blocks(SIGUSR2), 0);
    finish(created);
    IS(pthread_sigmask(77, &one, NULL), EINVAL);
    FAILS(sigprocmask(77, &one, NULL), EINVAL);
    IS(blocks(SIGUSR1), 1);
    OK(sigprocmask(SIG_UNBLOCK, &one, NULL));
    IS(blocks(SIGUSR1), 0);
    sigfillset(&all);
    OK(sigprocmask(SIG_SETMASK, &all, NULL));
    IS(blocks(SIGUSR1), 1);
    IS(blocks(SIGKILL), 0);
    IS(blocks(SIGSTOP), 0);
    OK(pthread_sigmask(SIG_SETMASK, &before, &all));
    IS(sigismember(&all, SIGTERM), 1);
    IS(blocks(SIGTERM), 0);
}

int main(void)
{
    sigemptyset(&one);
    sigemptyset(&two);
    sigaddset(&one, SIGUSR1);
    sigaddset(&two, SIGUSR2);
    return on_both(test);
}
