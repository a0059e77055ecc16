/* pread, pwrite, preadv, pwritev: with 64-bit offsets asked for, these reach beyond 4 GiB. */
#define _FILE_OFFSET_BITS 64
#include "../conformance/check.h"

#include <sys/uio.h>

static void test(void)
{
    off_t far = (off_t)5 << 30;
    char bytes[3] = "";
    struct iovec out = {"ab", 2}, in = {bytes, 2};
    FILE *file = tmpfile();
    CHECK(file);
    IS(pwrite(fileno(file), "xy", 2, far), 2);
    IS(pwritev(fileno(file), &out, 1, far + 2), 2);
    IS(pread(fileno(file), bytes, 2, far + 1), 2);
    OK(strcmp(bytes, "ya"));
    IS(preadv(fileno(file), &in, 1, far + 2), 2);
    OK(strcmp(bytes, "ab"));
    IS(pread(fileno(file), bytes, 2, far + 4), 0);
    fclose(file);
}

int main(void)
{
    return on_both(test);
}
