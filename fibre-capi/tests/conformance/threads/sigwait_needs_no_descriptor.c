/* sigwait: waits where the process may open no more files, too. */
#include "../check.h"

#include <sys/resource.h>

static sigset_t set;
static atomic_int waiting;

static void *wait_for_it(void *unused)
{
    int signal = 0;
    waiting = 1;
    OK(sigwait(&set, &signal));
    IS(signal, SIGUSR1);
    return unused;
}

static void test(void)
{
    struct rlimit before, none;
    OK(getrlimit(RLIMIT_NOFILE, &before));
    none = before;
    none.rlim_cur = 0;
    OK(setrlimit(RLIMIT_NOFILE, &none));
    waiting = 0;
    pthread_t waiter = start(wait_for_it, NULL);
    AWAIT(waiting);
    let_block();
    OK(kill(getpid(), SIGUSR1));
    finish(waiter);
    OK(setrlimit(RLIMIT_NOFILE, &before));
}

int main(void)
{
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    return on_both(test);
}
