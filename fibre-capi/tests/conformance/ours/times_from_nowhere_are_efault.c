/* select, pselect, ppoll, pthread_sigmask, sigprocmask: EFAULT also for times and masks that the system's library reads before it asks the
 * kernel. */
#include "../io/nowhere.h"

#include <poll.h>
#include <sys/select.h>

static void test(void)
{
    for (int i = 0; i < PLACES; i++) {
        void *volatile there = nowhere(i);
        FAILS(select(0, NULL, NULL, NULL, there), EFAULT);
        FAILS(pselect(0, NULL, NULL, NULL, there, NULL), EFAULT);
        FAILS(ppoll(NULL, 0, there, NULL), EFAULT);
    }
}

static void *masks(void *unused)
{
    sigset_t before, after;
    OK(pthread_sigmask(SIG_BLOCK, NULL, &before));
    for (int i = 0; i < PLACES; i++) {
        void *volatile there = nowhere(i);
        IS(pthread_sigmask(SIG_BLOCK, there, NULL), EFAULT);
        FAILS(sigprocmask(SIG_SETMASK, there, &after), EFAULT);
        sigfillset(&after);
        IS(pthread_sigmask(SIG_SETMASK, &after, there), EFAULT);
        OK(pthread_sigmask(SIG_BLOCK, NULL, &after));
        for (int signal = 1; signal < 32; signal++)
            IS(sigismember(&before, signal), sigismember(&after, signal));
    }
    return unused;
}

int main(void)
{
    make_places();
    watch();
    finish(start(masks, NULL));
    return on_both(test);
}
