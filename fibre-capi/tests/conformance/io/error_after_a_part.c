/* recv, send: a call that an error ends after a part says how much, and leaves the error to the next call. */
#include "../check.h"

#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define BLOCK (64 << 20)

static int near, far;

static void connect_stream(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(listener >= 0);
    OK(bind(listener, (struct sockaddr *)&address, length));
    OK(listen(listener, 1));
    OK(getsockname(listener, (struct sockaddr *)&address, &length));
    CHECK((near = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    OK(connect(near, (struct sockaddr *)&address, length));
    CHECK((far = accept(listener, NULL, NULL)) >= 0);
    OK(close(listener));
}

/* Resets the connection, having sent these, or received something that is left unread. */
static void *reset(void *bytes)
{
    struct linger at_once = {1, 0};
    int left = 0;
    if (bytes)
        IS(send(far, bytes, 3, 0), 3);
    else
        AWAIT(ioctl(far, FIONREAD, &left) == 0 && left > 0);
    for (int turn = 0; turn < 5; turn++)
        let_block();
    OK(setsockopt(far, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once));
    OK(close(far));
    return NULL;
}

static void receive_part(int option)
{
    char bytes[10];
    int error = 0;
    socklen_t length = sizeof error;
    connect_stream();
    pthread_t thread = start(reset, (void *)"abc");
    IS(recv(near, bytes, 10, MSG_WAITALL), 3);
    if (option) {
        OK(getsockopt(near, SOL_SOCKET, SO_ERROR, &error, &length));
        IS(error, ECONNRESET);
    } else {
        FAILS(recv(near, bytes, 1, 0), ECONNRESET);
    }
    IS(recv(near, bytes, 1, 0), 0);
    finish(thread);
    OK(close(near));
}

static void send_part(void)
{
    char *block = (char *)calloc(1, BLOCK), byte;
    ssize_t sent;
    CHECK(block != NULL);
    connect_stream();
    pthread_t thread = start(reset, NULL);
    sent = send(near, block, BLOCK, MSG_NOSIGNAL);
    CHECK(sent > 0 && sent < BLOCK);
    FAILS(recv(near, &byte, 1, 0), ECONNRESET);
    FAILS(send(near, &byte, 1, MSG_NOSIGNAL), EPIPE);
    finish(thread);
    OK(close(near));
    free(block);
}

static void test(void)
{
    receive_part(0);
    receive_part(1);
    send_part();
}

int main(void)
{
    return on_both(test);
}
