/* sigwaitinfo: tells who has sent a signal and with what value; those with values are queued, the lowest first. */
#include "../check.h"

static sigset_t set;

static void expect(int number, int value)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    IS(sigwaitinfo(&set, &info), number);
    IS(info.si_signo, number);
    IS(info.si_code, SI_QUEUE);
    IS(info.si_pid, getpid());
    IS(info.si_value.sival_int, value);
}

static void *send_later(void *unused)
{
    const union sigval value = {.sival_int = 4};
    let_block();
    OK(sigqueue(getpid(), SIGRTMIN + 1, value));
    return unused;
}

static void test(void)
{
    union sigval value = {.sival_int = 1};
    OK(sigqueue(getpid(), SIGRTMIN + 1, value));
    value.sival_int = 2;
    OK(sigqueue(getpid(), SIGRTMIN, value));
    value.sival_int = 3;
    OK(sigqueue(getpid(), SIGRTMIN, value));
    expect(SIGRTMIN, 2);
    expect(SIGRTMIN, 3);
    expect(SIGRTMIN + 1, 1);
    pthread_t sender = start(send_later, NULL);
    expect(SIGRTMIN + 1, 4);
    finish(sender);
}

int main(void)
{
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigaddset(&set, SIGRTMIN + 1);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    return on_both(test);
}
