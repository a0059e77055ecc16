/* ppoll, pselect: a pending signal of the caller that the mask lets in is handled, and the call fails with EINTR. */
#include "../check.h"

#include <poll.h>
#include <sys/select.h>

static atomic_int handled;

static void note(int signal)
{
    (void)signal;
    handled++;
}

static void test(void)
{
    const struct timespec time = {WATCHDOG, 0}, none = {0, 0};
    sigset_t mask, before;
    handled = 0;
    signal(SIGUSR1, note);
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    OK(pthread_sigmask(SIG_BLOCK, &mask, &before));
    OK(raise(SIGUSR1));
    IS(ppoll(NULL, 0, &none, &mask), 0);
    IS(handled, 0);
    FAILS(ppoll(NULL, 0, &time, &before), EINTR);
    IS(handled, 1);
    OK(raise(SIGUSR1));
    IS(handled, 1);
    FAILS(pselect(0, NULL, NULL, NULL, &time, &before), EINTR);
    IS(handled, 2);
    OK(pthread_sigmask(SIG_SETMASK, &before, &mask));
    IS(sigismember(&mask, SIGUSR1), 1);
    IS(handled, 2);
}

int main(void)
{
    return on_both(test);
}
