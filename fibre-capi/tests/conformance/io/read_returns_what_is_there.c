/* read: returns what is there, if less than asked for; with a count of 0 it is 0. */
#include "../check.h"

static void test(void)
{
    int ends[2];
    char buffer[100];
    OK(pipe(ends));
    IS(write(ends[1], "hello", 5), 5);
    IS(read(ends[0], buffer, 0), 0);
    IS(read(ends[0], buffer, sizeof buffer), 5);
    CHECK(memcmp(buffer, "hello", 5) == 0);
    IS(write(ends[1], "world", 5), 5);
    IS(read(ends[0], buffer, 2), 2);
    IS(read(ends[0], buffer + 2, sizeof buffer - 2), 3);
    CHECK(memcmp(buffer, "world", 5) == 0);
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
