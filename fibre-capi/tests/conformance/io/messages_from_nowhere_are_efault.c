/* readv, writev, preadv, pwritev, recvmsg, sendmsg, recvmmsg, sendmmsg, sendto, sendfile, ioctl, accept: EFAULT for pointers to what is not
 * there, also within what is. */
#include "nowhere.h"

#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

static int ends[2], file, udp, room;

static void message(struct msghdr *volatile there, int number)
{
    struct msghdr empty = {.msg_iov = nowhere(number), .msg_iovlen = 1};
    FAILS(recvmsg(ends[0], there, 0), EFAULT);
    FAILS(recvmsg(ends[0], &empty, 0), EFAULT);
    FAILS(sendmsg(ends[0], there, 0), EFAULT);
    FAILS(sendmsg(ends[0], &empty, 0), EFAULT);
    FAILS(recvmmsg(ends[0], (void *)there, 1, 0, NULL), EFAULT);
    FAILS(sendmmsg(ends[0], (void *)there, 1, 0), EFAULT);
}

static void test(void)
{
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    CHECK((udp = socket(AF_INET, SOCK_DGRAM, 0)) >= 0);
    CHECK((file = open("/proc/self/exe", O_RDONLY)) >= 0);
    CHECK((room = memfd_create("room", 0)) >= 0);
    IS(write(ends[1], "x", 1), 1);
    for (int i = 0; i < PLACES; i++) {
        void *volatile there = nowhere(i);
        struct iovec part = {nowhere(0), 1};
        FAILS(readv(ends[0], there, 1), EFAULT);
        FAILS(readv(ends[0], &part, 1), EFAULT);
        FAILS(writev(ends[0], there, 1), EFAULT);
        FAILS(writev(ends[0], &part, 1), EFAULT);
        FAILS(preadv(file, there, 1, 0), EFAULT);
        FAILS(pwritev(room, there, 1, 0), EFAULT);
        FAILS(sendto(udp, "x", 1, 0, there, sizeof(struct sockaddr_in)), EFAULT);
        FAILS(ioctl(ends[0], FIONBIO, i ? (void *)-4096L : there), EFAULT);
        FAILS(sendfile(ends[0], file, there, 1), EFAULT);
        message(there, i);
    }
    char byte = 0;
    IS(recv(ends[0], &byte, 1, MSG_DONTWAIT), 1);
    OK(close(ends[0]) | close(ends[1]) | close(udp) | close(file) | close(room));
}

int main(void)
{
    make_places();
    return on_both(test);
}
