/* pthread_cancel, read, readv, recv, recvfrom, recvmsg, recvmmsg, splice: a thread that is cancelled in one of them ends, also if the other
 * side of its connection is closed afterwards. */
/* flags: -O2 */
/* flags: -DFIBRE_MAIN */
#include "table.h"

#include <sys/socket.h>
#include <sys/uio.h>

/* How many calls there are. */
#define CALLS 7

static int ends[2], pipes[2];
static char bytes[1];
static atomic_int begins;

static int turn(int number)
{
    struct iovec part = {bytes, sizeof bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    struct mmsghdr several = {.msg_hdr = message};
    TRY(read(ends[0], bytes, 1));
    TRY(readv(ends[0], &part, 1));
    TRY(recv(ends[0], bytes, 1, 0));
    TRY(recvfrom(ends[0], bytes, 1, 0, NULL, NULL));
    TRY(recvmsg(ends[0], &message, 0));
    TRY(recvmmsg(ends[0], &several, 1, 0, NULL));
    TRY(splice(ends[0], NULL, pipes[1], NULL, 1, 0));
    return 0;
}

static void *begin(void *number)
{
    begins = 1;
    return turn(*(int *)number) ? "goes on" : NULL;
}

/* Makes call number `number` in a thread that is cancelled as it begins; returns how that ended. */
static void *cancel_in(int number)
{
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    OK(pipe(pipes));
    begins = 0;
    pthread_t thread = start(begin, &number);
    AWAIT(begins);
    OK(pthread_cancel(thread));
    OK(close(ends[1]));
    void *ending = finish(thread);
    OK(close(ends[0]));
    OK(close(pipes[0]));
    OK(close(pipes[1]));
    return ending;
}

static void test(void)
{
    for (int round = 0; round < 200; round++)
        for (int number = 0; number < CALLS; number++)
            if (cancel_in(number) != PTHREAD_CANCELED)
                failed(__FILE__, number, what, result, -1);
    CHECK(cancel_in(CALLS) == NULL);
}

int main(void)
{
    return on_both(test);
}
