/* sigtimedwait: fails with EAGAIN when the time is over, at once if there is none, and with EINVAL if it is no time. */
#include "../check.h"

static sigset_t set;

static void test(void)
{
    const struct timespec none = {0, 0}, some = {0, 20000000}, bad = {0, 1000000000}, long_time = {WATCHDOG, 0};
    siginfo_t info;
    struct timespec end = in_ms(CLOCK_MONOTONIC, 20);
    FAILS(sigtimedwait(&set, &info, &some), EAGAIN);
    CHECK(is_past(CLOCK_MONOTONIC, end));
    FAILS(sigtimedwait(&set, &info, &none), EAGAIN);
    FAILS(sigtimedwait(&set, &info, &bad), EINVAL);
    OK(kill(getpid(), SIGUSR1));
    IS(sigtimedwait(&set, &info, &none), SIGUSR1);
    OK(kill(getpid(), SIGUSR1));
    IS(sigtimedwait(&set, NULL, &long_time), SIGUSR1);
    FAILS(sigtimedwait(&set, NULL, &none), EAGAIN);
}

int main(void)
{
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    return on_both(test);
}
