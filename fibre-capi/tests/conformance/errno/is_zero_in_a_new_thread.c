/* errno: 0 at the start of each thread. */
#include "../check.h"

static void *look(void *unused)
{
    IS(errno, 0);
    errno = ENOENT;
    return unused;
}

static void test(void)
{
    errno = EBADF;
    for (int i = 0; i < 20; i++)
        finish(start(look, NULL));
    IS(errno, EBADF);
}

int main(void)
{
    return on_both(test);
}
