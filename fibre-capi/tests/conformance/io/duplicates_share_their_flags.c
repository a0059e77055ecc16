/* fcntl, ioctl: O_NONBLOCK set by one number of a listener counts for its duplicates, also after a call that has waited. */
#include "../check.h"

#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static int listener;

static void *run(void *unused)
{
    int peer = accept(listener, NULL, NULL);
    CHECK(peer >= 0);
    OK(close(peer));
    return unused;
}

static void test(void)
{
    for (int by_ioctl = 0; by_ioctl < 2; by_ioctl++) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t length = sizeof address;
        int on = 1, client, twin, other;
        CHECK((listener = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
        OK(bind(listener, (struct sockaddr *)&address, sizeof address));
        OK(listen(listener, 5));
        OK(getsockname(listener, (struct sockaddr *)&address, &length));
        pthread_t thread = start(run, NULL);
        let_block();
        CHECK((client = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
        OK(connect(client, (struct sockaddr *)&address, length));
        finish(thread);
        CHECK((twin = dup(listener)) >= 0);
        CHECK((other = fcntl(twin, F_DUPFD, 0)) >= 0);
        IS(fcntl(twin, F_GETFL) & O_NONBLOCK, 0);
        if (by_ioctl)
            OK(ioctl(twin, FIONBIO, &on));
        else
            OK(fcntl(twin, F_SETFL, O_NONBLOCK));
        IS(fcntl(twin, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
        IS(fcntl(listener, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
        IS(fcntl(other, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
        FAILS(accept(listener, NULL, NULL), EAGAIN);
        FAILS(accept(other, NULL, NULL), EAGAIN);
        OK(close(client));
        OK(close(twin));
        OK(close(other));
        OK(close(listener));
    }
}

int main(void)
{
    return on_both(test);
}
