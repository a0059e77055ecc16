/* accept: a cancellation point; a later connection can still be accepted. */
#include "../check.h"

#include <netinet/in.h>
#include <sys/socket.h>

static int listener;
static atomic_int accepting;

static void *run(void *unused)
{
    accepting = 1;
    IS(accept(listener, NULL, NULL), 77);
    return unused;
}

static void test(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    accepting = 0;
    CHECK((listener = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    OK(bind(listener, (struct sockaddr *)&address, sizeof address));
    OK(listen(listener, 5));
    OK(getsockname(listener, (struct sockaddr *)&address, &length));
    pthread_t thread = start(run, NULL);
    AWAIT(accepting);
    let_block();
    OK(pthread_cancel(thread));
    CHECK(finish(thread) == PTHREAD_CANCELED);
    int client = socket(AF_INET, SOCK_STREAM, 0);
    OK(connect(client, (struct sockaddr *)&address, sizeof address));
    int served = accept(listener, NULL, NULL);
    CHECK(served >= 0);
    OK(close(client));
    OK(close(served));
    OK(close(listener));
}

int main(void)
{
    return on_both(test);
}
