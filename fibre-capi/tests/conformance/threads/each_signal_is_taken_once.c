/* sigwait, sigwaitinfo, sigtimedwait: of several that wait for a signal, one takes it. */
#include "../check.h"

#define TAKERS 4
#define SIGNALS 200

static sigset_t set;
static atomic_int taken[SIGNALS];
static atomic_int count;

static void *take(void *number)
{
    const struct timespec time = {0, 2000000};
    siginfo_t info;
    for (;;) {
        int signal = (intptr_t)number % 2 ? sigwaitinfo(&set, &info) : sigtimedwait(&set, &info, &time);
        if (signal == -1) {
            /* Woken for one that another has taken. */
            CHECK(errno == EAGAIN || errno == EINTR);
            continue;
        }
        IS(signal, SIGRTMIN);
        if (info.si_value.sival_int == SIGNALS)
            return number;
        taken[info.si_value.sival_int]++;
        count++;
    }
}

static void send_one(int what)
{
    const union sigval value = {.sival_int = what};
    OK(sigqueue(getpid(), SIGRTMIN, value));
}

static void test(void)
{
    pthread_t takers[TAKERS];
    count = 0;
    for (int i = 0; i < SIGNALS; i++)
        taken[i] = 0;
    for (intptr_t i = 0; i < TAKERS; i++)
        takers[i] = start(take, (void *)i);
    for (int i = 0; i < SIGNALS; i++) {
        send_one(i);
        if (i % 10 == 0)
            AWAIT(count > i);
    }
    AWAIT(count == SIGNALS);
    for (int i = 0; i < TAKERS; i++)
        send_one(SIGNALS);
    for (int i = 0; i < TAKERS; i++)
        finish(takers[i]);
    for (int i = 0; i < SIGNALS; i++)
        IS(taken[i], 1);
}

int main(void)
{
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    return on_both(test);
}
