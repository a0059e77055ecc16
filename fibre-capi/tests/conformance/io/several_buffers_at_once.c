/* readv, writev: gather from and scatter to several buffers, in order. */
#include "../check.h"

#include <sys/uio.h>

static int ends[2];

static void *write_later(void *unused)
{
    struct iovec parts[3] = {{"ab", 2}, {"", 0}, {"cde", 3}};
    let_block();
    IS(writev(ends[1], parts, 3), 5);
    return unused;
}

static void test(void)
{
    char one[1], two[10];
    struct iovec parts[2] = {{one, 1}, {two, sizeof two}};
    OK(pipe(ends));
    pthread_t thread = start(write_later, NULL);
    IS(readv(ends[0], parts, 2), 5);
    CHECK(one[0] == 'a' && memcmp(two, "bcde", 4) == 0);
    finish(thread);
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
