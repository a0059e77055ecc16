/* write, writev: without a reader the handler of SIGPIPE has run when -1 with EPIPE is returned, also after a wait for room. */
#include "../check.h"

#include <sys/uio.h>

static volatile sig_atomic_t signals;

static void count(int signal)
{
    (void)signal;
    signals++;
}

static void *close_later(void *end)
{
    let_block();
    OK(close(*(int *)end));
    return NULL;
}

static void test(void)
{
    static char block[1 << 20];
    struct iovec parts[1] = {{block, 1}};
    int ends[2];
    signal(SIGPIPE, count);
    signals = 0;
    OK(pipe(ends));
    pthread_t thread = start(close_later, ends);
    ssize_t written = write(ends[1], block, sizeof block);
    CHECK(written > 0 || errno == EPIPE);
    IS(signals, 1);
    finish(thread);
    signals = 0;
    FAILS(write(ends[1], "x", 1), EPIPE);
    IS(signals, 1);
    FAILS(writev(ends[1], parts, 1), EPIPE);
    IS(signals, 2);
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
