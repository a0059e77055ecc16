/* accept, accept4: of several threads that accept, each gets other connections; flags are set as asked for. */
#include "../check.h"

#include <netinet/in.h>
#include <sys/socket.h>

#define ACCEPTERS 4
#define EACH 5

static int listener;

static void *serve(void *unused)
{
    for (int i = 0; i < EACH; i++) {
        int served = i % 2 ? accept(listener, NULL, NULL)
                           : accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        CHECK(served >= 0);
        IS(fcntl(served, F_GETFL) & O_NONBLOCK, i % 2 ? 0 : O_NONBLOCK);
        IS(fcntl(served, F_GETFD) & FD_CLOEXEC, i % 2 ? 0 : FD_CLOEXEC);
        IS(write(served, "x", 1), 1);
        OK(close(served));
    }
    return unused;
}

static void test(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    pthread_t servers[ACCEPTERS];
    CHECK((listener = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    OK(bind(listener, (struct sockaddr *)&address, sizeof address));
    OK(listen(listener, 50));
    OK(getsockname(listener, (struct sockaddr *)&address, &length));
    for (int i = 0; i < ACCEPTERS; i++)
        servers[i] = start(serve, NULL);
    for (int i = 0; i < ACCEPTERS * EACH; i++) {
        char byte = 0;
        int client = socket(AF_INET, SOCK_STREAM, 0);
        OK(connect(client, (struct sockaddr *)&address, sizeof address));
        IS(read(client, &byte, 1), 1);
        IS(read(client, &byte, 1), 0);
        OK(close(client));
    }
    for (int i = 0; i < ACCEPTERS; i++)
        finish(servers[i]);
    OK(close(listener));
}

int main(void) { return on_both(test); }
