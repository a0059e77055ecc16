/* select: a count beyond the table of descriptors, such as getdtablesize() can be, reads and writes nothing beyond the sets. */
#include "../check.h"

#include <sys/select.h>

/* More than the process has descriptors. */
#define COUNT 100000

static struct {
    fd_set set;
    unsigned char after[COUNT / 8];
} in;

static void test(void)
{
    int ends[2];
    OK(pipe(ends));
    IS(write(ends[1], "x", 1), 1);
    memset(&in, 0xFF, sizeof in);
    FD_ZERO(&in.set);
    FD_SET(ends[0], &in.set);
    IS(select(COUNT, &in.set, NULL, NULL, NULL), 1);
    CHECK(FD_ISSET(ends[0], &in.set));
    for (size_t at = 0; at < sizeof in.after; at++)
        IS(in.after[at], 0xFF);
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
