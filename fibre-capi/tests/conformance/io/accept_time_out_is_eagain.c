/* SO_RCVTIMEO: accept is -1 with EAGAIN after at least that time, whatever number of the listener it was set by; what is accepted
 * has the time-out, too. */
#include "../check.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

static struct timeval short_time = {0, 20000};

/* Receives or accepts nothing in that time. */
static void ends_in_time(int number, int accepts)
{
    char byte;
    struct timespec until = in_ms(CLOCK_MONOTONIC, 19);
    if (accepts)
        FAILS(accept(number, NULL, NULL), EAGAIN);
    else
        FAILS(recv(number, &byte, 1, 0), EAGAIN);
    CHECK(is_past(CLOCK_MONOTONIC, until));
}

static void *accept_nothing(void *listener)
{
    ends_in_time(*(int *)listener, 1);
    return NULL;
}

/* One made by the library's call or not, and duplicated before it is accepted from or not. */
static void listens(int is_found, int has_twin)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener, twin, client, peer;
    listener = is_found ? (int)syscall(SYS_socket, AF_INET, SOCK_STREAM, 0) : socket(AF_INET, SOCK_STREAM, 0);
    CHECK(listener >= 0);
    OK(bind(listener, (struct sockaddr *)&address, length));
    OK(listen(listener, 5));
    OK(getsockname(listener, (struct sockaddr *)&address, &length));
    CHECK((twin = has_twin ? dup(listener) : listener) >= 0);
    OK(setsockopt(twin, SOL_SOCKET, SO_RCVTIMEO, &short_time, sizeof short_time));
    finish(start(accept_nothing, &listener));
    ends_in_time(listener, 1);
    ends_in_time(twin, 1);
    CHECK((client = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    OK(connect(client, (struct sockaddr *)&address, length));
    CHECK((peer = accept(listener, NULL, NULL)) >= 0);
    ends_in_time(peer, 0);
    OK(close(peer));
    OK(close(client));
    if (has_twin)
        OK(close(twin));
    OK(close(listener));
}

static void test(void)
{
    for (int one = 0; one < 4; one++)
        listens(one & 1, one > 1);
}

int main(void)
{
    return on_both(test);
}
