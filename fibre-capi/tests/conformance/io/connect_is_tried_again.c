/* connect: after ECONNREFUSED the same socket connects as soon as somebody listens; connect of a socket that is connected is
 * EISCONN, the first time, too. */
#include "../check.h"

#include <netinet/in.h>
#include <sys/socket.h>

/* Where the program connects to: a number that nobody listens at, until the test does. */
static struct sockaddr_in address;

/* A bound socket that does not listen yet. */
static int bound_socket(void)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(listener >= 0);
    OK(bind(listener, (struct sockaddr *)&any, sizeof any));
    OK(getsockname(listener, (struct sockaddr *)&address, &length));
    return listener;
}

/* The outcome that a socket has to report. */
static int pending_error(int number)
{
    int error = -1;
    socklen_t length = sizeof error;
    OK(getsockopt(number, SOL_SOCKET, SO_ERROR, &error, &length));
    return error;
}

/* Is refused three times, then connects. One made by the library's call, or found. */
static void connects_at_last(int is_found)
{
    struct sockaddr *to = (struct sockaddr *)&address;
    int listener = bound_socket(), client, peer;
    client = is_found ? (int)syscall(SYS_socket, AF_INET, SOCK_STREAM, 0) : socket(AF_INET, SOCK_STREAM, 0);
    CHECK(client >= 0);
    for (int one = 0; one < 3; one++) {
        FAILS(connect(client, to, sizeof address), ECONNREFUSED);
        IS(pending_error(client), 0);
    }
    OK(listen(listener, 5));
    OK(connect(client, to, sizeof address));
    FAILS(connect(client, to, sizeof address), EISCONN);
    FAILS(connect(client, to, sizeof address), EISCONN);
    IS(fcntl(client, F_GETFL) & O_NONBLOCK, 0);
    CHECK((peer = accept(listener, NULL, NULL)) >= 0);
    IS(write(peer, "x", 1), 1);
    char byte;
    IS(read(client, &byte, 1), 1);
    OK(close(peer));
    OK(close(client));
    OK(close(listener));
}

static void test(void)
{
    connects_at_last(0);
    connects_at_last(1);
}

int main(void)
{
    return on_both(test);
}
