/* pthread_cancel, read, readv, recv, recvfrom, recvmsg, write, writev, send, sendto, sendmsg, accept, accept4: a thread that waits in one of
 * them and is cancelled ends, whatever becomes of the descriptor afterwards. */
/* flags: -O2 */
/* flags: -DFIBRE_MAIN */
#include "table.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* How many calls there are. */
#define CALLS 12

static int ends[2], listener;
static char bytes[1 << 20];
static atomic_int waiting;

static int turn(int number)
{
    struct iovec part = {bytes, sizeof bytes};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    TRY(read(ends[0], bytes, 1));
    TRY(readv(ends[0], &part, 1));
    TRY(recv(ends[0], bytes, 1, 0));
    TRY(recvfrom(ends[0], bytes, 1, 0, NULL, NULL));
    TRY(recvmsg(ends[0], &message, 0));
    TRY(accept(listener, NULL, NULL));
    TRY(accept4(listener, NULL, NULL, 0));
    /* What fits is written, so the first ones are made in a row until nothing does. */
    TRY(write(ends[0], bytes, sizeof bytes) + write(ends[0], bytes, sizeof bytes));
    TRY(writev(ends[0], &part, 1) + writev(ends[0], &part, 1));
    TRY(send(ends[0], bytes, sizeof bytes, MSG_NOSIGNAL) + send(ends[0], bytes, sizeof bytes, MSG_NOSIGNAL));
    TRY(sendto(ends[0], bytes, sizeof bytes, MSG_NOSIGNAL, NULL, 0) + sendto(ends[0], bytes, sizeof bytes, MSG_NOSIGNAL, NULL, 0));
    TRY(sendmsg(ends[0], &message, MSG_NOSIGNAL) + sendmsg(ends[0], &message, MSG_NOSIGNAL));
    return 0;
}

static void *wait_in(void *number)
{
    waiting = 1;
    return turn(*(int *)number) ? "goes on" : NULL;
}

/* Makes call number `number` in a thread that is cancelled, at once or when it waits; returns how that ended. */
static void *cancel_in(int number, int waits)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    CHECK((listener = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    OK(bind(listener, (struct sockaddr *)&address, sizeof address));
    OK(listen(listener, 5));
    waiting = 0;
    pthread_t thread = start(wait_in, &number);
    AWAIT(waiting);
    if (waits)
        let_block();
    OK(pthread_cancel(thread));
    OK(close(ends[0]));
    OK(close(listener));
    OK(close(ends[1]));
    return finish(thread);
}

static void test(void)
{
    for (int round = 0; round < 20; round++)
        for (int number = 0; number < CALLS; number++)
            if (cancel_in(number, round % 2) != PTHREAD_CANCELED)
                failed(__FILE__, number, what, result, -1);
    CHECK(cancel_in(CALLS, 0) == NULL);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    return on_both(test);
}
