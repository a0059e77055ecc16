/* raise, pthread_sigmask, sigpending, sigwaitinfo: a signal that its thread blocks is pending until that lets it in or takes it. */
#include "../check.h"

static sigset_t set;
static atomic_int handled;
static pthread_t by;

static void note(int signal)
{
    by = pthread_self();
    handled += signal;
}

static int is_pending(int signal)
{
    sigset_t pending;
    OK(sigpending(&pending));
    return sigismember(&pending, signal);
}

static void *look(void *unused)
{
    IS(is_pending(SIGUSR1), 0);
    return unused;
}

static void test(void)
{
    siginfo_t info;
    const struct timespec none = {0, 0};
    handled = 0;
    signal(SIGUSR1, note);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    IS(is_pending(SIGUSR1), 0);
    OK(raise(SIGUSR1));
    OK(pthread_kill(pthread_self(), SIGUSR1));
    let_block();
    IS(handled, 0);
    IS(is_pending(SIGUSR1), 1);
    finish(start(look, NULL));
    OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
    IS(handled, SIGUSR1);
    CHECK(pthread_equal(by, pthread_self()));
    IS(is_pending(SIGUSR1), 0);

    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    OK(raise(SIGUSR1));
    IS(sigwaitinfo(&set, &info), SIGUSR1);
    IS(info.si_signo, SIGUSR1);
    IS(info.si_pid, getpid());
    FAILS(sigtimedwait(&set, NULL, &none), EAGAIN);
    OK(raise(SIGUSR1));
    IS(sigtimedwait(&set, NULL, &none), SIGUSR1);
    OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
    IS(handled, SIGUSR1);
}

int main(void)
{
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    return on_both(test);
}
