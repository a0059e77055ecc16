/* SO_RCVTIMEO: read and recv are -1 with EAGAIN after at least that time, whatever number it was set by; data in time is read. */
#include "../check.h"

#include <sys/socket.h>
#include <sys/time.h>

static int ends[2];

static void *write_later(void *unused)
{
    let_block();
    IS(write(ends[1], "x", 1), 1);
    return unused;
}

static void test(void)
{
    struct timeval time = {0, 20000};
    char byte;
    int twin;
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    CHECK((twin = dup(ends[0])) >= 0);
    OK(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time));
    struct timespec until = in_ms(CLOCK_MONOTONIC, 19);
    FAILS(read(ends[0], &byte, 1), EAGAIN);
    CHECK(is_past(CLOCK_MONOTONIC, until));
    until = in_ms(CLOCK_MONOTONIC, 19);
    FAILS(recv(ends[0], &byte, 1, 0), EAGAIN);
    CHECK(is_past(CLOCK_MONOTONIC, until));
    until = in_ms(CLOCK_MONOTONIC, 19);
    FAILS(recv(twin, &byte, 1, 0), EAGAIN);
    CHECK(is_past(CLOCK_MONOTONIC, until));
    OK(close(twin));
    time = (struct timeval){20, 0};
    OK(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time));
    pthread_t thread = start(write_later, NULL);
    IS(read(ends[0], &byte, 1), 1);
    finish(thread);
    socklen_t length = sizeof time;
    OK(getsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &time, &length));
    IS(time.tv_sec, 20);
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
