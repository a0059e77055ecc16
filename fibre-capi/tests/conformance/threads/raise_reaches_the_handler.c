/* raise, pthread_kill: a thread that sends itself a signal has run the program's handler when the call returns. */
#include "../check.h"

static volatile sig_atomic_t handled;
static pthread_t by;

static void note(int signal)
{
    (void)signal;
    by = pthread_self();
    handled++;
}

static void test(void)
{
    handled = 0;
    signal(SIGUSR1, note);
    OK(raise(SIGUSR1));
    IS(handled, 1);
    CHECK(pthread_equal(by, pthread_self()));
    OK(pthread_kill(pthread_self(), SIGUSR1));
    IS(handled, 2);
    signal(SIGUSR1, SIG_IGN);
    OK(raise(SIGUSR1));
    IS(handled, 2);
    FAILS(raise(65), EINVAL);
}

int main(void)
{
    return on_both(test);
}
