/* recv, recvfrom, recvmsg, send, sendto, sendmsg, accept, connect: a pending request acts in a call that would fail. */
#include "table.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

static int closed, file;

/* Calls on what is no socket. */
static int on(int fd, int number)
{
    char byte = 0;
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = 1};
    TRY(recv(fd, &byte, 1, 0));
    TRY(recv(fd, &byte, 1, MSG_DONTWAIT));
    TRY(recvfrom(fd, &byte, 1, 0, NULL, NULL));
    TRY(recvmsg(fd, &message, 0));
    TRY(send(fd, &byte, 1, 0));
    TRY(send(fd, &byte, 1, MSG_DONTWAIT));
    TRY(sendto(fd, &byte, 1, 0, (struct sockaddr *)&peer, sizeof peer));
    TRY(sendmsg(fd, &message, 0));
    TRY(accept(fd, NULL, NULL));
    TRY(connect(fd, (struct sockaddr *)&peer, sizeof peer));
    TRY(connect(fd, nowhere, 0));
    return 0;
}

/* How many of them there are. */
#define CALLS 11

static int turn(int number)
{
    int which = number / CALLS;
    return which < 3 ? on(which == 0 ? -1 : which == 1 ? closed : file, number % CALLS) : 0;
}

static void test(void)
{
    CHECK((file = open("/dev/null", O_RDWR)) >= 0);
    CHECK((closed = dup(2)) >= 0);
    OK(close(closed));
    each_ends_its_thread();
    OK(close(file));
}

int main(void)
{
    return on_both(test);
}
