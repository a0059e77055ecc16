/* read, write, close, fcntl: -1 with EBADF for a descriptor that is not open. */
#include "../check.h"

static void test(void)
{
    int ends[2];
    char byte = 0;
    OK(pipe(ends));
    FAILS(read(ends[1], &byte, 1), EBADF);
    FAILS(write(ends[0], &byte, 1), EBADF);
    OK(close(ends[0]));
    OK(close(ends[1]));
    FAILS(close(ends[0]), EBADF);
    FAILS(read(ends[0], &byte, 1), EBADF);
    FAILS(write(ends[1], &byte, 1), EBADF);
    FAILS(fcntl(ends[1], F_GETFL), EBADF);
    FAILS(close(-1), EBADF);
    FAILS(read(-1, &byte, 1), EBADF);
}

int main(void)
{
    return on_both(test);
}
