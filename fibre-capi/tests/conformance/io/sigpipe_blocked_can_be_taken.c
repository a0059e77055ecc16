/* write, sigtimedwait: who blocks SIGPIPE takes the one that its write has raised, and nobody is ended by it. */
#include "../check.h"

static void test(void)
{
    const struct timespec none = {0, 0};
    int ends[2];
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    OK(pthread_sigmask(SIG_BLOCK, &set, &before));
    OK(pipe(ends));
    OK(close(ends[0]));
    FAILS(write(ends[1], "x", 1), EPIPE);
    IS(sigtimedwait(&set, NULL, &none), SIGPIPE);
    FAILS(sigtimedwait(&set, NULL, &none), EAGAIN);
    OK(pthread_sigmask(SIG_SETMASK, &before, NULL));
    OK(close(ends[1]));
}

int main(void) { return on_both(test); }
