/* socket, bind, listen, accept, connect: a connection over which both sides read what the other one writes. */
#include "../check.h"

#include <netinet/in.h>
#include <sys/socket.h>

static int listener;

static void *serve(void *unused)
{
    char buffer[16];
    struct sockaddr_in peer = {0};
    socklen_t length = sizeof peer;
    int served = accept(listener, (struct sockaddr *)&peer, &length);
    CHECK(served >= 0);
    IS(length, sizeof peer);
    IS(peer.sin_family, AF_INET);
    IS(ntohl(peer.sin_addr.s_addr), INADDR_LOOPBACK);
    IS(read(served, buffer, sizeof buffer), 4);
    IS(write(served, "pong!", 5), 5);
    OK(close(served));
    return unused;
}

static void test(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    char buffer[16];
    CHECK((listener = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    OK(bind(listener, (struct sockaddr *)&address, sizeof address));
    OK(listen(listener, 5));
    OK(getsockname(listener, (struct sockaddr *)&address, &length));
    pthread_t server = start(serve, NULL);
    let_block();
    int client = socket(AF_INET, SOCK_STREAM, 0);
    OK(connect(client, (struct sockaddr *)&address, sizeof address));
    IS(write(client, "ping", 4), 4);
    IS(read(client, buffer, sizeof buffer), 5);
    CHECK(memcmp(buffer, "pong!", 5) == 0);
    IS(read(client, buffer, sizeof buffer), 0);
    finish(server);
    OK(close(client));
    OK(close(listener));
}

int main(void) { return on_both(test); }
