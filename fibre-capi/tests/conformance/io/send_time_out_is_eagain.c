/* SO_SNDTIMEO: write to a full socket is -1 with EAGAIN after at least that time. */
#include "../check.h"

#include <sys/socket.h>
#include <sys/time.h>

static void test(void)
{
    static char block[65536];
    struct timeval time = {0, 20000};
    int ends[2];
    ssize_t done;
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    while (send(ends[0], block, sizeof block, MSG_DONTWAIT) > 0)
        ;
    IS(errno, EAGAIN);
    OK(setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time));
    struct timespec until = in_ms(CLOCK_MONOTONIC, 19);
    while ((done = write(ends[0], block, sizeof block)) > 0)
        ;
    IS(done, -1);
    IS(errno, EAGAIN);
    CHECK(is_past(CLOCK_MONOTONIC, until));
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
