/* write: a thread that waits for room in a pipe gets EPIPE when the reader closes its end. */
#include "../check.h"

static int ends[2];
static atomic_long written;

static void *write_it(void *unused)
{
    static char block[4096];
    ssize_t done;
    while ((done = write(ends[1], block, sizeof block)) > 0)
        written += done;
    IS(done, -1);
    IS(errno, EPIPE);
    return unused;
}

static void test(void)
{
    signal(SIGPIPE, SIG_IGN);
    written = 0;
    OK(pipe(ends));
    pthread_t thread = start(write_it, NULL);
    AWAIT(written > 0);
    let_block();
    OK(close(ends[0]));
    finish(thread);
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
