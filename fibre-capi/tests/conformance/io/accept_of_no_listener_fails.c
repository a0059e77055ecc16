/* accept: -1 at once for what is no listener: ENOTSOCK for a pipe, EINVAL for a stream, EOPNOTSUPP for datagrams; which stays as it is. */
#include "../check.h"

#include <netinet/in.h>
#include <sys/socket.h>

/* It fails on this number and on a duplicate, which are blocking after that as before. */
static void fails(int number, int error)
{
    int twin;
    FAILS(accept(number, NULL, NULL), error);
    CHECK((twin = dup(number)) >= 0);
    FAILS(accept(twin, NULL, NULL), error);
    FAILS(accept(number, NULL, NULL), error);
    IS(syscall(SYS_fcntl, number, F_GETFL) & O_NONBLOCK, 0);
    OK(close(twin));
    OK(close(number));
}

static void test(void)
{
    int ends[2];
    OK(pipe(ends));
    fails(ends[0], ENOTSOCK);
    fails(ends[1], ENOTSOCK);
    OK(syscall(SYS_pipe2, ends, 0));
    fails(ends[0], ENOTSOCK);
    fails(ends[1], ENOTSOCK);
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    fails(ends[0], EINVAL);
    fails(ends[1], EINVAL);
    OK(syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, ends));
    fails(ends[0], EINVAL);
    fails(ends[1], EINVAL);
    fails(socket(AF_INET, SOCK_STREAM, 0), EINVAL);
    fails(socket(AF_INET, SOCK_DGRAM, 0), EOPNOTSUPP);
    fails(syscall(SYS_socket, AF_INET, SOCK_STREAM, 0), EINVAL);
    fails(syscall(SYS_socket, AF_INET, SOCK_DGRAM, 0), EOPNOTSUPP);
}

int main(void)
{
    return on_both(test);
}
