/* read, write, close, fcntl, recv, send, accept, connect, pread, pwrite, fsync: -1 with EBADF for a descriptor that is not open,
 * however large its number is. */
#include "../check.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* A number that nothing is open under. */
static void is_not_open(int number)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char byte = 0;
    struct iovec buffer = {&byte, 1};
    FAILS(read(number, &byte, 1), EBADF);
    FAILS(readv(number, &buffer, 1), EBADF);
    FAILS(write(number, &byte, 1), EBADF);
    FAILS(writev(number, &buffer, 1), EBADF);
    FAILS(pread(number, &byte, 1, 0), EBADF);
    FAILS(pwrite(number, &byte, 1, 0), EBADF);
    FAILS(recv(number, &byte, 1, 0), EBADF);
    FAILS(send(number, &byte, 1, 0), EBADF);
    FAILS(accept(number, NULL, NULL), EBADF);
    FAILS(connect(number, (struct sockaddr *)&address, sizeof address), EBADF);
    FAILS(fsync(number), EBADF);
    FAILS(fcntl(number, F_GETFL), EBADF);
    FAILS(close(number), EBADF);
}

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
    is_not_open(ends[0]);
    is_not_open(5000000);
    is_not_open(INT_MAX);
    FAILS(close(-1), EBADF);
    FAILS(read(-1, &byte, 1), EBADF);
}

int main(void)
{
    return on_both(test);
}
