/* write: without a reader raises SIGPIPE in the calling thread, which ends the program if nothing else was said. */
#include "../check.h"
/* ends: signal 13 */

static void *write_it(void *unused)
{
    int ends[2];
    OK(pipe(ends));
    OK(close(ends[0]));
    IS(write(ends[1], "x", 1), 77);
    return unused;
}

int main(void)
{
    watch();
    finish(start(write_it, NULL));
    return 0;
}
