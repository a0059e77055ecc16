/* close, dup: a listener goes on while another number refers to it; with the last one it is gone, and clients that nobody has accepted are told. */
#include "../check.h"

#include <netinet/in.h>
#include <sys/socket.h>

static struct sockaddr_in address;

static int client(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fd >= 0);
    OK(connect(fd, (struct sockaddr *)&address, sizeof address));
    return fd;
}

static void test(void)
{
    socklen_t length = sizeof address;
    char byte;
    address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(listener >= 0);
    OK(bind(listener, (struct sockaddr *)&address, sizeof address));
    OK(listen(listener, 5));
    OK(getsockname(listener, (struct sockaddr *)&address, &length));
    int other = dup(listener), first = client();
    OK(close(listener));
    int second = client(), served = accept(other, NULL, NULL);
    CHECK(served >= 0);
    IS(write(served, "x", 1), 1);
    IS(read(first, &byte, 1), 1);
    OK(close(other));
    FAILS(read(second, &byte, 1), ECONNRESET);
    int late = socket(AF_INET, SOCK_STREAM, 0);
    FAILS(connect(late, (struct sockaddr *)&address, sizeof address), ECONNREFUSED);
    OK(close(first));
    OK(close(second));
    OK(close(served));
    OK(close(late));
}

int main(void) { return on_both(test); }
