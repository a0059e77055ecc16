/* fibre_blocking: what a routine makes of its thread's mask does not last. */
/* only: ours */
#include "../check.h"

#include <fibre.h>

static void *lets_in(void *unused)
{
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    OK(pthread_sigmask(SIG_UNBLOCK, &set, &before));
    IS(sigismember(&before, SIGUSR1), 1);
    OK(pthread_sigmask(SIG_BLOCK, NULL, &before));
    IS(sigismember(&before, SIGUSR1), 0);
    return unused;
}

static void *run(void *unused)
{
    for (int i = 0; i < 50; i++)
        CHECK(fibre_blocking(lets_in, run) == run);
    return unused;
}

int main(void)
{
    watch();
    finish(start(run, NULL));
    return 0;
}
