/* pipe, close: a number that is used again belongs to what was opened last. */
#include "../check.h"

static int ends[2];

static void *read_it(void *want)
{
    char byte = 0;
    IS(read(ends[0], &byte, 1), 1);
    IS(byte, (intptr_t)want);
    return NULL;
}

static void test(void)
{
    for (int round = 0; round < 100; round++) {
        char byte = (char)(round % 100);
        OK(pipe(ends));
        pthread_t thread = start(read_it, (void *)(intptr_t)byte);
        if (round % 10 == 0)
            let_block();
        IS(write(ends[1], &byte, 1), 1);
        finish(thread);
        OK(close(ends[round % 2]));
        OK(close(ends[1 - round % 2]));
    }
}

int main(void)
{
    return on_both(test);
}
