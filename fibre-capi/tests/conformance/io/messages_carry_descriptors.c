/* sendmsg, recvmsg: gather and scatter, and hand a descriptor over. */
#include "../check.h"

#include <sys/socket.h>
#include <sys/uio.h>

static int ends[2];

static void *receive(void *unused)
{
    char one[3], two[10], control[CMSG_SPACE(sizeof(int))], byte = 0;
    struct iovec parts[2] = {{one, sizeof one}, {two, sizeof two}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2, .msg_control = control,
                             .msg_controllen = sizeof control};
    int received;
    IS(recvmsg(ends[1], &message, 0), 5);
    CHECK(memcmp(one, "abc", 3) == 0 && memcmp(two, "de", 2) == 0);
    memcpy(&received, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof received);
    IS(read(received, &byte, 1), 1);
    IS(byte, 'x');
    OK(close(received));
    return unused;
}

static void test(void)
{
    int pipe_ends[2];
    char control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec parts[2] = {{"ab", 2}, {"cde", 3}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2, .msg_control = control,
                             .msg_controllen = sizeof control};
    OK(pipe(pipe_ends));
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    pthread_t thread = start(receive, NULL);
    let_block();
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(header), &pipe_ends[0], sizeof(int));
    IS(sendmsg(ends[0], &message, 0), 5);
    IS(write(pipe_ends[1], "x", 1), 1);
    finish(thread);
    for (int i = 0; i < 2; i++) {
        OK(close(pipe_ends[i]));
        OK(close(ends[i]));
    }
}

int main(void) { return on_both(test); }
