/* recvmsg, recv: MSG_ERRQUEUE that finds no error, and MSG_PEEK beyond the last byte (SO_PEEK_OFF), leave what there is to be received. */
#include "../check.h"

#include <netinet/in.h>
#include <sys/socket.h>

static int ours, theirs;

static void *send_later(void *byte)
{
    let_block();
    IS(send(theirs, byte, 1, 0), 1);
    return NULL;
}

/* Two sockets of the internet that are connected to each other. */
static void connect_both(int kind)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in other = address;
    socklen_t length = sizeof address;
    int first = socket(AF_INET, kind, 0);
    CHECK(first >= 0 && (theirs = socket(AF_INET, kind, 0)) >= 0);
    OK(bind(first, (struct sockaddr *)&address, length));
    OK(bind(theirs, (struct sockaddr *)&other, length));
    OK(getsockname(first, (struct sockaddr *)&address, &length));
    OK(getsockname(theirs, (struct sockaddr *)&other, &length));
    if (kind == SOCK_STREAM)
        OK(listen(first, 1));
    OK(connect(theirs, (struct sockaddr *)&address, length));
    if (kind == SOCK_STREAM) {
        CHECK((ours = accept(first, NULL, NULL)) >= 0);
        OK(close(first));
    } else {
        ours = first;
        OK(connect(ours, (struct sockaddr *)&other, length));
    }
}

/* Receives a byte after having waited for it. */
static void wait_for_byte(int flags)
{
    char byte;
    pthread_t thread = start(send_later, "a");
    IS(recv(ours, &byte, 1, flags), 1);
    finish(thread);
}

static void test(void)
{
    char byte;
    int offset = 0, kinds[] = {SOCK_DGRAM, SOCK_STREAM};
    for (int kind = 0; kind < 2; kind++) {
        struct msghdr nothing = {0};
        connect_both(kinds[kind]);
        wait_for_byte(0);
        IS(send(theirs, "b", 1, 0), 1);
        let_block();
        FAILS(recvmsg(ours, &nothing, MSG_ERRQUEUE), EAGAIN);
        IS(recv(ours, &byte, 1, 0), 1);
        OK(close(theirs));
        let_block();
        FAILS(recvmsg(ours, &nothing, MSG_ERRQUEUE), EAGAIN);
        if (kinds[kind] == SOCK_STREAM)
            IS(recv(ours, &byte, 1, 0), 0);
        OK(close(ours));
    }
    int ends[2];
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    ours = ends[0], theirs = ends[1];
    OK(setsockopt(ours, SOL_SOCKET, SO_PEEK_OFF, &offset, sizeof offset));
    wait_for_byte(MSG_PEEK);
    wait_for_byte(MSG_PEEK);
    FAILS(recv(ours, &byte, 1, MSG_PEEK | MSG_DONTWAIT), EAGAIN);
    IS(recv(ours, &byte, 1, 0), 1);
    IS(recv(ours, &byte, 1, 0), 1);
    OK(close(ours));
    OK(close(theirs));
}

int main(void)
{
    return on_both(test);
}
