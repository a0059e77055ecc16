/* sigwait, sigwaitinfo, sigtimedwait: cancellation points. */
#include "../check.h"

static sigset_t set;
static atomic_int waiting;

static void *run(void *number)
{
    const struct timespec time = {WATCHDOG, 0};
    siginfo_t info;
    int signal;
    waiting++;
    switch ((intptr_t)number) {
    case 0:
        IS(sigwait(&set, &signal), 77);
        break;
    case 1:
        IS(sigwaitinfo(&set, &info), 77);
        break;
    default:
        IS(sigtimedwait(&set, &info, &time), 77);
    }
    return number;
}

static void test(void)
{
    pthread_t threads[3];
    waiting = 0;
    for (intptr_t i = 0; i < 3; i++)
        threads[i] = start(run, (void *)i);
    AWAIT(waiting == 3);
    let_block();
    for (int i = 0; i < 3; i++)
        OK(pthread_cancel(threads[i]));
    for (int i = 0; i < 3; i++)
        CHECK(finish(threads[i]) == PTHREAD_CANCELED);
}

int main(void)
{
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
    return on_both(test);
}
