/* read: 0 when the last writer has closed its end, to a reader that waits and to all later ones. */
#include "../check.h"

static int ends[2];
static atomic_int reading;

static void *read_it(void *unused)
{
    char byte;
    reading++;
    IS(read(ends[0], &byte, 1), 0);
    return unused;
}

static void test(void)
{
    reading = 0;
    OK(pipe(ends));
    pthread_t threads[2] = {start(read_it, NULL), start(read_it, NULL)};
    AWAIT(reading == 2);
    let_block();
    OK(close(ends[1]));
    finish(threads[0]);
    finish(threads[1]);
    read_it(NULL);
    OK(close(ends[0]));
}

int main(void)
{
    return on_both(test);
}
