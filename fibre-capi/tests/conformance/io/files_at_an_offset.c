/* pread, pwrite, preadv, pwritev: at the offset named, which leaves the file's own where it is. */
#include "../check.h"

#include <sys/uio.h>

static void test(void)
{
    char name[] = "/tmp/conformance-XXXXXX", buffer[16];
    struct iovec part = {buffer, 3};
    int file = mkstemp(name);
    CHECK(file >= 0);
    OK(unlink(name));
    IS(write(file, "0123456789", 10), 10);
    IS(pread(file, buffer, 4, 3), 4);
    CHECK(memcmp(buffer, "3456", 4) == 0);
    IS(pwrite(file, "xy", 2, 8), 2);
    IS(preadv(file, &part, 1, 7), 3);
    CHECK(memcmp(buffer, "7xy", 3) == 0);
    IS(pwritev(file, &part, 1, 0), 3);
    IS(lseek(file, 0, SEEK_CUR), 10);
    IS(lseek(file, 0, SEEK_SET), 0);
    IS(read(file, buffer, sizeof buffer), 10);
    CHECK(memcmp(buffer, "7xy34567xy", 10) == 0);
    IS(read(file, buffer, sizeof buffer), 0);
    FAILS(pread(file, buffer, 1, -1), EINVAL);
    FAILS(pwrite(file, buffer, 1, -1), EINVAL);
    OK(close(file));
    FAILS(pread(file, buffer, 1, 0), EBADF);
}

int main(void)
{
    return on_both(test);
}
