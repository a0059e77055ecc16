/* write: -1 with EAGAIN on a full pipe whose description has O_NONBLOCK, less than asked for on a nearly full one. */
#include "../check.h"

static void test(void)
{
    static char block[1 << 20];
    int ends[2];
    OK(pipe2(ends, O_NONBLOCK));
    ssize_t done = write(ends[1], block, sizeof block);
    CHECK(done > 0 && done < (ssize_t)sizeof block);
    FAILS(write(ends[1], block, sizeof block), EAGAIN);
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
