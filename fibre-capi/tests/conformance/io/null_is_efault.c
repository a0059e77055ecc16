/* readv, writev, sendmsg, recvmsg, sendmmsg, recvmmsg, poll, ioctl: EFAULT for null pointers to what they need. */
#include "../check.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

static void test(void)
{
    struct iovec *volatile parts = NULL;
    struct msghdr *volatile message = NULL, empty = {.msg_iovlen = 1};
    struct mmsghdr *volatile messages = NULL;
    struct pollfd *volatile fds = NULL;
    int *volatile number = NULL;
    volatile nfds_t beyond = (nfds_t)-1;
    int ends[2];
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    IS(write(ends[1], "x", 1), 1);
    FAILS(readv(ends[0], parts, 1), EFAULT);
    FAILS(writev(ends[0], parts, 1), EFAULT);
    FAILS(sendmsg(ends[0], message, 0), EFAULT);
    FAILS(sendmsg(ends[0], &empty, 0), EFAULT);
    FAILS(recvmsg(ends[0], message, 0), EFAULT);
    FAILS(recvmsg(ends[0], &empty, 0), EFAULT);
    FAILS(sendmmsg(ends[0], messages, 1, 0), EFAULT);
    FAILS(recvmmsg(ends[0], messages, 1, 0, NULL), EFAULT);
    FAILS(poll(fds, 1, 0), EFAULT);
    FAILS(poll(fds, beyond, 0), EINVAL);
    FAILS(ioctl(ends[0], FIONBIO, number), EFAULT);
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
