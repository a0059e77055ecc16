/* write: -1 with EPIPE and no signal in a thread that was created with SIGPIPE blocked. */
#include "../check.h"

static void *write_it(void *unused)
{
    int ends[2];
    OK(pipe(ends));
    OK(close(ends[0]));
    FAILS(write(ends[1], "x", 1), EPIPE);
    OK(close(ends[1]));
    return unused;
}

int main(void)
{
    sigset_t blocked;
    watch();
    OK(sigemptyset(&blocked));
    OK(sigaddset(&blocked, SIGPIPE));
    OK(pthread_sigmask(SIG_BLOCK, &blocked, NULL));
    finish(start(write_it, NULL));
    return 0;
}
