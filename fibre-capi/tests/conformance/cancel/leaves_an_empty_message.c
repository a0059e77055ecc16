/* pthread_cancel, recv, recvmsg, read: a thread that is cancelled after an empty message has come has taken it, or has left it: it is not
 * lost. */
/* only: ours */
/* with: FIBRE_PROCESSORS=1 */
/* flags: -DFIBRE_MAIN */
#include "table.h"

#include <sys/socket.h>

static int ends[2];
static atomic_int waiting;

static int turn(int number)
{
    char byte;
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    TRY(recv(ends[0], &byte, 1, 0));
    TRY(recvmsg(ends[0], &message, 0));
    TRY(read(ends[0], &byte, 1));
    return 0;
}

static void *receive(void *number)
{
    waiting = 1;
    return turn(*(int *)number) ? "goes on" : NULL;
}

/* Cancels call number `number` when a message has come and the others have had so many turns; returns how the thread ended. */
static void *cancel_in(int number, int turns)
{
    OK(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
    waiting = 0;
    pthread_t thread = start(receive, &number);
    AWAIT(waiting);
    let_block();
    IS(send(ends[1], "", 0, 0), 0);
    while (turns-- > 0)
        sched_yield();
    OK(pthread_cancel(thread));
    void *ending = finish(thread);
    if (ending == PTHREAD_CANCELED) {
        char byte;
        IS(recv(ends[0], &byte, 1, MSG_DONTWAIT), 0);
    }
    OK(close(ends[0]));
    OK(close(ends[1]));
    return ending;
}

static void test(void)
{
    for (int turns = 0; turns < 4; turns++)
        for (int number = 0; number < 3; number++)
            CHECK(cancel_in(number, turns) != NULL);
    CHECK(cancel_in(3, 0) == NULL);
}

int main(void)
{
    return on_both(test);
}
