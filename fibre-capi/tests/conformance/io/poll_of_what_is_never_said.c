/* poll: 0 after the time-out if what was asked is never the case, as POLLWRBAND of a TCP socket with room. */
#include "../check.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

static void test(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), ours = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(listener >= 0 && ours >= 0);
    OK(bind(listener, (struct sockaddr *)&address, length));
    OK(listen(listener, 5));
    OK(getsockname(listener, (struct sockaddr *)&address, &length));
    OK(connect(ours, (struct sockaddr *)&address, length));
    int theirs = accept(listener, NULL, NULL);
    CHECK(theirs >= 0);

    struct pollfd one = {.fd = ours, .events = POLLWRBAND};
    struct timespec until = in_ms(CLOCK_MONOTONIC, 30);
    IS(poll(&one, 1, 30), 0);
    CHECK(is_past(CLOCK_MONOTONIC, until));
    one.events = POLLWRNORM | POLLWRBAND;
    IS(poll(&one, 1, 1000), 1);
    IS(one.revents, POLLWRNORM);
    IS(send(theirs, "x", 1, 0), 1);
    one.events = POLLRDBAND;
    IS(poll(&one, 1, 30), 0);
    one.events = POLLRDBAND | POLLRDNORM;
    IS(poll(&one, 1, 1000), 1);
    IS(one.revents, POLLRDNORM);
    OK(close(ours));
    OK(close(theirs));
    OK(close(listener));
}

int main(void)
{
    return on_both(test);
}
