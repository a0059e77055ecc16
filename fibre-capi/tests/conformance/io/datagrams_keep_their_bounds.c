/* sendto, recvfrom: each datagram is received by itself, with its sender's address. */
#include "../check.h"

#include <netinet/in.h>
#include <sys/socket.h>

static int receiver;

static void *receive(void *unused)
{
    char buffer[64];
    for (int length = 1; length <= 3; length++) {
        struct sockaddr_in from = {0};
        socklen_t size = sizeof from;
        IS(recvfrom(receiver, buffer, sizeof buffer, 0, (struct sockaddr *)&from, &size), length);
        IS(size, sizeof from);
        IS(ntohl(from.sin_addr.s_addr), INADDR_LOOPBACK);
    }
    return unused;
}

static void test(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    receiver = socket(AF_INET, SOCK_DGRAM, 0);
    OK(bind(receiver, (struct sockaddr *)&address, sizeof address));
    OK(getsockname(receiver, (struct sockaddr *)&address, &size));
    int sender = socket(AF_INET, SOCK_DGRAM, 0);
    pthread_t thread = start(receive, NULL);
    let_block();
    for (int length = 1; length <= 3; length++)
        IS(sendto(sender, "xyz", length, 0, (struct sockaddr *)&address, sizeof address), length);
    finish(thread);
    OK(close(sender));
    OK(close(receiver));
}

int main(void)
{
    return on_both(test);
}
