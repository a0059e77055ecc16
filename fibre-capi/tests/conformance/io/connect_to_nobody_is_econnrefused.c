/* connect: -1 with ECONNREFUSED if nobody listens at the address. */
#include "../check.h"

#include <netinet/in.h>
#include <sys/socket.h>

static void test(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    /* Bound, not listening: nobody else gets the port meanwhile. */
    int bound = socket(AF_INET, SOCK_STREAM, 0);
    OK(bind(bound, (struct sockaddr *)&address, sizeof address));
    OK(getsockname(bound, (struct sockaddr *)&address, &length));
    int client = socket(AF_INET, SOCK_STREAM, 0);
    FAILS(connect(client, (struct sockaddr *)&address, sizeof address), ECONNREFUSED);
    OK(close(client));
    OK(close(bound));
}

int main(void)
{
    return on_both(test);
}
