/* fdopen: NULL with EBADF for a descriptor that is not open, and with EINVAL for a mode that is none or that the descriptor does not
 * allow; a stream that is closed closes its descriptor. */
#include "../check.h"

#include <sys/socket.h>

/* Whether the call fails with this error. */
static void fails(int number, const char *mode, int error)
{
    errno = 0;
    CHECK(fdopen(number, mode) == NULL);
    IS(errno, error);
}

static void test(void)
{
    int ends[2], pair[2];
    OK(pipe(ends));
    fails(ends[0], "w", EINVAL);
    fails(ends[1], "r", EINVAL);
    fails(ends[0], "r+", EINVAL);
    fails(ends[0], "x", EINVAL);
    fails(-1, "r", EBADF);
    FILE *out = fdopen(ends[1], "a"), *in = fdopen(ends[0], "r");
    CHECK(out != NULL && in != NULL);
    CHECK(fcntl(ends[1], F_GETFL) & O_APPEND);
    CHECK(fputs("x", out) >= 0);
    OK(fflush(out));
    IS(fgetc(in), 'x');
    FAILS(fseek(in, 0, SEEK_SET), ESPIPE);
    OK(fclose(out));
    IS(fgetc(in), EOF);
    OK(fclose(in));
    fails(ends[0], "r", EBADF);
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    CHECK((out = fdopen(pair[0], "r+")) != NULL);
    CHECK(fputs("y", out) >= 0);
    OK(fclose(out));
    char byte;
    IS(read(pair[1], &byte, 1), 1);
    IS(read(pair[1], &byte, 1), 0);
    OK(close(pair[1]));
}

int main(void)
{
    return on_both(test);
}
