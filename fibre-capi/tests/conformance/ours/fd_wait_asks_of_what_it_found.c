/* fibre_fd_wait: of a descriptor that the library has not made it tells what is the case, not an event of one that had its number. */
#include "../check.h"

#include <poll.h>

int fibre_fd_wait(int fd, int events, const struct timespec *deadline);

static int number;
static atomic_int waiting;

static void *run(void *unused)
{
    struct timespec end = in_ms(CLOCK_MONOTONIC, 300);
    waiting = 1;
    IS(fibre_fd_wait(number, POLLIN, &end), 0);
    return unused;
}

static void test(void)
{
    int before[2], after[2];
    waiting = 0;
    OK(syscall(SYS_pipe2, before, 0));
    long kept = syscall(SYS_dup, before[0]);
    CHECK(kept >= 0);
    number = before[0];
    pthread_t thread = start(run, NULL);
    AWAIT(waiting);
    for (int turn = 0; turn < 3; turn++)
        let_block();
    /* Closed and opened unseen. What was open is registered still, by what is kept. */
    OK(syscall(SYS_close, number));
    OK(syscall(SYS_pipe2, after, 0));
    IS(after[0], number);
    IS(syscall(SYS_write, before[1], "x", 1), 1);
    finish(thread);
    struct timespec end = in_ms(CLOCK_MONOTONIC, 1000);
    IS(syscall(SYS_write, after[1], "x", 1), 1);
    IS(fibre_fd_wait(number, POLLIN, &end), POLLIN);
    int all[] = {before[1], kept, after[0], after[1]};
    for (int place = 0; place < 4; place++)
        OK(syscall(SYS_close, all[place]));
}

int main(void)
{
    return on_both(test);
}
