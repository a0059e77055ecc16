/* read: on an empty pipe returns when something has been written, and lets other threads run meanwhile. */
#include "../check.h"

static int ends[2];
static atomic_int written, reading;

static void *read_it(void *unused)
{
    char byte = 0;
    reading = 1;
    IS(read(ends[0], &byte, 1), 1);
    IS(byte, 'x');
    IS(written, 1);
    return unused;
}

static void test(void)
{
    written = reading = 0;
    OK(pipe(ends));
    pthread_t thread = start(read_it, NULL);
    AWAIT(reading);
    let_block();
    written = 1;
    IS(write(ends[1], "x", 1), 1);
    finish(thread);
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
