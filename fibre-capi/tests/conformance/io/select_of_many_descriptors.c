/* select: sets of more than FD_SETSIZE bits serve descriptors beyond that. */
#include "../check.h"

#include <sys/resource.h>
#include <sys/select.h>

#define PLACE 3000

static void test(void)
{
    int ends[2];
    unsigned long in[PLACE / 64 + 1] = {0}, bit = 1UL << PLACE % 64;
    OK(pipe(ends));
    IS(dup2(ends[0], PLACE), PLACE);
    in[PLACE / 64] = bit;
    IS(write(ends[1], "x", 1), 1);
    IS(select(PLACE + 1, (fd_set *)in, NULL, NULL, NULL), 1);
    CHECK(in[PLACE / 64] == bit);
    OK(close(ends[0]));
    OK(close(ends[1]));
    OK(close(PLACE));
}

int main(void)
{
    struct rlimit limit;
    OK(getrlimit(RLIMIT_NOFILE, &limit));
    if (limit.rlim_max <= PLACE)
        return 0;
    limit.rlim_cur = limit.rlim_max;
    OK(setrlimit(RLIMIT_NOFILE, &limit));
    return on_both(test);
}
