/* sendto, sendmsg: to a Unix socket whose queue others have filled, they wait for room, or for the socket's time-out. */
#include "../check.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

static struct sockaddr_un address;
static socklen_t length;
static atomic_int waiting;

static int datagram_socket(void)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    CHECK(fd >= 0);
    return fd;
}

static void *run(void *by_message)
{
    int fd = datagram_socket();
    struct iovec part = {"last", 4};
    struct msghdr whole = {.msg_name = &address, .msg_namelen = length, .msg_iov = &part, .msg_iovlen = 1};
    struct timeval time = {0, 20000};
    OK(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time));
    FAILS(sendto(fd, "late", 4, 0, (struct sockaddr *)&address, length), EAGAIN);
    time.tv_usec = 0;
    OK(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time));
    waiting++;
    if (by_message)
        IS(sendmsg(fd, &whole, 0), 4);
    else
        IS(sendto(fd, "last", 4, 0, (struct sockaddr *)&address, length), 4);
    OK(close(fd));
    return NULL;
}

static void test(void)
{
    char bytes[8];
    int receiver = datagram_socket(), other = datagram_socket(), count = 0, lasts = 0;
    address.sun_family = AF_UNIX;
    /* An address of the system's choice. */
    OK(bind(receiver, (struct sockaddr *)&address, sizeof(sa_family_t)));
    length = sizeof address;
    OK(getsockname(receiver, (struct sockaddr *)&address, &length));
    while (sendto(other, "fill", 4, MSG_DONTWAIT, (struct sockaddr *)&address, length) == 4)
        count++;
    waiting = 0;
    pthread_t threads[2] = {start(run, NULL), start(run, bytes)};
    AWAIT(waiting == 2);
    for (int turn = 0; turn < 3; turn++)
        let_block();
    for (int left = count + 2; left > 0; left--) {
        IS(recv(receiver, bytes, sizeof bytes, 0), 4);
        lasts += bytes[0] == 'l';
    }
    IS(lasts, 2);
    finish(threads[0]);
    finish(threads[1]);
    OK(close(other));
    OK(close(receiver));
}

int main(void)
{
    return on_both(test);
}
