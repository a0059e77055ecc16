/* recvmmsg: if an error ends it after a message, it says how many came, and leaves the error to the next call. */
#include "../check.h"

#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static int near;

/* A loopback address with a port of its own. */
static int bound(struct sockaddr_in *address)
{
    socklen_t length = sizeof *address;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    CHECK(fd >= 0);
    OK(bind(fd, (struct sockaddr *)address, length));
    OK(getsockname(fd, (struct sockaddr *)address, &length));
    return fd;
}

/* Sends once the message that was there has been taken. */
static void *send_to_nobody(void *unused)
{
    int left = 1;
    AWAIT(ioctl(near, FIONREAD, &left) == 0 && left == 0);
    let_block();
    IS(send(near, "x", 1, 0), 1);
    return unused;
}

static void test(void)
{
    struct sockaddr_in ours, theirs;
    char bytes[2][4];
    struct iovec parts[2] = {{bytes[0], 4}, {bytes[1], 4}};
    struct mmsghdr messages[2];
    memset(messages, 0, sizeof messages);
    for (int one = 0; one < 2; one++) {
        messages[one].msg_hdr.msg_iov = parts + one;
        messages[one].msg_hdr.msg_iovlen = 1;
    }
    int far = bound(&theirs);
    near = bound(&ours);
    OK(connect(near, (struct sockaddr *)&theirs, sizeof theirs));
    IS(sendto(far, "x", 1, 0, (struct sockaddr *)&ours, sizeof ours), 1);
    OK(close(far));
    pthread_t thread = start(send_to_nobody, NULL);
    IS(recvmmsg(near, messages, 2, 0, NULL), 1);
    FAILS(recv(near, bytes, 4, MSG_DONTWAIT), ECONNREFUSED);
    finish(thread);
    OK(close(near));
}

int main(void)
{
    return on_both(test);
}
