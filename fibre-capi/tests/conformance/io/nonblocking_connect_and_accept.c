/* connect, accept: EINPROGRESS and EAGAIN if the socket has O_NONBLOCK; poll tells when they can go on. */
#include "../check.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

static void test(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int error = -1;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    OK(bind(listener, (struct sockaddr *)&address, sizeof address));
    OK(listen(listener, 5));
    OK(getsockname(listener, (struct sockaddr *)&address, &length));
    FAILS(accept(listener, NULL, NULL), EAGAIN);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (connect(client, (struct sockaddr *)&address, sizeof address) != 0)
        IS(errno, EINPROGRESS);
    struct pollfd both[2] = {{.fd = client, .events = POLLOUT}, {.fd = listener, .events = POLLIN}};
    IS(poll(both, 1, -1), 1);
    length = sizeof error;
    OK(getsockopt(client, SOL_SOCKET, SO_ERROR, &error, &length));
    IS(error, 0);
    IS(poll(both + 1, 1, -1), 1);
    int served = accept(listener, NULL, NULL);
    CHECK(served >= 0);
    IS(fcntl(served, F_GETFL) & O_NONBLOCK, 0);
    OK(close(served));
    OK(close(client));
    OK(close(listener));
}

int main(void)
{
    return on_both(test);
}
