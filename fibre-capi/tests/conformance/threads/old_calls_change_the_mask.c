/* sigblock, sigsetmask, siggetmask, sighold, sigrelse, sigset: the mask of the caller, as programs changed it before POSIX. */
/* flags: -Wno-deprecated-declarations */
#include "../check.h"

static atomic_int handled;

static void note(int signal)
{
    handled += signal;
}

/* What the kernel thread blocks. */
static unsigned long of_thread(void)
{
    unsigned long mask = 0;
    OK(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, 8));
    return mask;
}

static int bit(int signal)
{
    return 1 << (signal - 1);
}

static int blocked(void)
{
    sigset_t set;
    int mask = 0;
    OK(pthread_sigmask(SIG_BLOCK, NULL, &set));
    for (int signal = 1; signal < 32; signal++)
        mask |= sigismember(&set, signal) ? bit(signal) : 0;
    return mask;
}

static void test(void)
{
    unsigned long before = of_thread();
    OK(sigsetmask(0));
    handled = 0;
    signal(SIGUSR1, note);
    IS(sigblock(bit(SIGUSR1)), 0);
    IS(sigblock(bit(SIGUSR2)), bit(SIGUSR1));
    IS(siggetmask(), bit(SIGUSR1) | bit(SIGUSR2));
    IS(blocked(), bit(SIGUSR1) | bit(SIGUSR2));
    OK(raise(SIGUSR1));
    IS(handled, 0);
    IS(sigsetmask(bit(SIGUSR2)), bit(SIGUSR1) | bit(SIGUSR2));
    IS(handled, SIGUSR1);

    OK(sighold(SIGUSR1));
    IS(blocked(), bit(SIGUSR1) | bit(SIGUSR2));
    OK(sigrelse(SIGUSR2));
    IS(blocked(), bit(SIGUSR1));
    FAILS(sighold(0), EINVAL);
    FAILS(sigrelse(65), EINVAL);

    CHECK(sigset(SIGUSR1, note) == SIG_HOLD);
    CHECK(sigset(SIGUSR1, SIG_HOLD) == note);
    IS(blocked(), bit(SIGUSR1));
    CHECK(sigset(SIGUSR1, SIG_DFL) == SIG_HOLD);
    CHECK(sigset(SIGUSR1, SIG_IGN) == SIG_DFL);
    CHECK(sigset(SIGUSR1, SIG_DFL) == SIG_IGN);
    errno = 0;
    CHECK(sigset(65, SIG_DFL) == SIG_ERR);
    IS(errno, EINVAL);
    IS(blocked(), 0);
    IS(of_thread(), before);
}

int main(void)
{
    return on_both(test);
}
