/* pthread_sigmask, kill, pthread_kill, sigqueue, raise, timer_settime: a signal that the initial thread blocks is handled if another thread lets it
 * in; and is pending while nobody does. */
/* flags: -O2 */
/* flags: -DFIBRE_MAIN */
#include "../check.h"

#include <sys/wait.h>

static atomic_int handled, step;
static pthread_t thread;

static void handle(int signal)
{
    (void)signal;
    handled++;
}

static void mask(int how, int signal)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    OK(pthread_sigmask(how, &set, NULL));
}

static void *run(void *unused)
{
    for (int turn = 0; turn < 2; turn++) {
        AWAIT(step == 4 * turn + 1);
        mask(SIG_UNBLOCK, SIGUSR1);
        step++;
        AWAIT(step == 4 * turn + 3);
        OK(raise(SIGUSR1));
        mask(SIG_BLOCK, SIGUSR1);
        step++;
    }
    return unused;
}

static void by_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec soon = {.it_value.tv_nsec = 1000};
    timer_t timer;
    OK(timer_create(CLOCK_MONOTONIC, &event, &timer));
    OK(timer_settime(timer, 0, &soon, NULL));
    AWAIT(handled == 4);
    OK(timer_delete(timer));
}

static void by_child(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(kill(getppid(), SIGUSR1) != 0);
    AWAIT(handled == 5);
    int status = -1;
    IS(waitpid(child, &status, 0), child);
    IS(status, 0);
}

static void send_all(void)
{
    union sigval none = {0};
    handled = 0;
    OK(kill(getpid(), SIGUSR1));
    let_block();
    IS(handled, 0);
    step++;
    AWAIT(handled == 1);
    AWAIT(step % 4 == 2);
    OK(pthread_kill(thread, SIGUSR1));
    AWAIT(handled == 2);
    OK(sigqueue(getpid(), SIGUSR1, none));
    AWAIT(handled == 3);
    by_timer();
    by_child();
    step++;
    AWAIT(step % 4 == 0);
    IS(handled, 6);
}

int main(void)
{
    watch();
    signal(SIGUSR1, handle);
    mask(SIG_BLOCK, SIGUSR1);
    thread = start(run, NULL);
    send_all();
    send_all();
    OK(kill(getpid(), SIGUSR1));
    let_block();
    IS(handled, 6);
    finish(thread);
    let_block();
    IS(handled, 6);
    mask(SIG_UNBLOCK, SIGUSR1);
    AWAIT(handled == 7);
    return 0;
}
