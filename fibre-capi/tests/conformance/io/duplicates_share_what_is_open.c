/* dup, dup2: two numbers of one description; it is closed with the last of them. */
#include "../check.h"

static int ends[2];

static void *read_it(void *number)
{
    char byte = 0;
    IS(read((int)(intptr_t)number, &byte, 1), 1);
    return NULL;
}

static void test(void)
{
    char byte;
    OK(pipe(ends));
    int second = dup(ends[0]);
    CHECK(second >= 0 && second != ends[0]);
    pthread_t threads[2] = {start(read_it, (void *)(intptr_t)ends[0]), start(read_it, (void *)(intptr_t)second)};
    let_block();
    IS(write(ends[1], "xy", 2), 2);
    finish(threads[0]);
    finish(threads[1]);
    int other[2];
    OK(pipe(other));
    IS(dup2(other[0], second), second);
    IS(write(other[1], "z", 1), 1);
    IS(read(second, &byte, 1), 1);
    IS(byte, 'z');
    OK(close(other[0]));
    OK(close(other[1]));
    IS(read(second, &byte, 1), 0);
    OK(close(second));
    FAILS(dup(second), EBADF);
    FAILS(dup2(second, ends[0]), EBADF);
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
