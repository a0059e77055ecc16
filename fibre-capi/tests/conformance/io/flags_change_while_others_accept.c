/* fcntl: O_NONBLOCK set and taken back while threads wait in accept leaves them waiting, where they can be cancelled;
 * a duplicate's number does the same. */
#include "../check.h"

#include <netinet/in.h>
#include <sys/socket.h>

static int listener;
static atomic_int accepting, accepted;

static void *run(void *unused)
{
    accepting++;
    int peer = accept(listener, NULL, NULL);
    CHECK(peer >= 0);
    OK(close(peer));
    accepted++;
    return unused;
}

static void flag_changes(int has_twin)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    pthread_t threads[2];
    int client, twin, ended = 0;
    accepting = accepted = 0;
    CHECK((listener = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    OK(bind(listener, (struct sockaddr *)&address, sizeof address));
    OK(listen(listener, 5));
    OK(getsockname(listener, (struct sockaddr *)&address, &length));
    for (int one = 0; one < 2; one++)
        threads[one] = start(run, NULL);
    AWAIT(accepting == 2);
    until_all_block();
    CHECK((twin = has_twin ? dup(listener) : listener) >= 0);
    OK(fcntl(listener, F_SETFL, O_NONBLOCK));
    IS(fcntl(twin, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    OK(fcntl(twin, F_SETFL, 0));
    IS(fcntl(twin, F_GETFL) & O_NONBLOCK, 0);
    IS(fcntl(listener, F_GETFL) & O_NONBLOCK, 0);
    CHECK((client = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    OK(connect(client, (struct sockaddr *)&address, length));
    AWAIT(accepted == 1);
    let_block();
    for (int one = 0; one < 2; one++)
        OK(pthread_cancel(threads[one]));
    for (int one = 0; one < 2; one++)
        ended += finish(threads[one]) == PTHREAD_CANCELED;
    IS(ended, 1);
    OK(close(client));
    if (has_twin)
        OK(close(twin));
    OK(close(listener));
}

static void test(void)
{
    flag_changes(0);
    flag_changes(1);
}

int main(void)
{
    return on_both(test);
}
