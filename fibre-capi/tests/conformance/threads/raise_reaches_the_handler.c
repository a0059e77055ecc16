/* raise: a thread that raises a signal gets the program's handler to run. */
#include "../check.h"

static volatile sig_atomic_t handled;

static void note(int signal)
{
    (void)signal;
    handled = 1;
}

static void test(void)
{
    handled = 0;
    signal(SIGUSR1, note);
    OK(raise(SIGUSR1));
    AWAIT(handled);
}

int main(void)
{
    return on_both(test);
}
