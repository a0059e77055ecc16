/* read, fcntl: -1 with EAGAIN on an empty pipe whose description has O_NONBLOCK, set by fcntl or by pipe2. */
#include "../check.h"

static void test(void)
{
    int ends[2];
    char byte;
    OK(pipe(ends));
    int flags = fcntl(ends[0], F_GETFL);
    IS(flags & O_NONBLOCK, 0);
    OK(fcntl(ends[0], F_SETFL, flags | O_NONBLOCK));
    IS(fcntl(ends[0], F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    FAILS(read(ends[0], &byte, 1), EAGAIN);
    IS(write(ends[1], "x", 1), 1);
    IS(read(ends[0], &byte, 1), 1);
    FAILS(read(ends[0], &byte, 1), EAGAIN);
    OK(close(ends[0]));
    OK(close(ends[1]));
    OK(pipe2(ends, O_NONBLOCK | O_CLOEXEC));
    IS(fcntl(ends[0], F_GETFL) & O_NONBLOCK, O_NONBLOCK);
    IS(fcntl(ends[0], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    FAILS(read(ends[0], &byte, 1), EAGAIN);
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
