/* write: to a full pipe returns when all has been written, while another thread reads. */
#include "../check.h"

#define TOTAL (1 << 20)

static int ends[2];
static atomic_int done;

static void *write_it(void *unused)
{
    static char block[TOTAL];
    for (int i = 0; i < TOTAL; i++)
        block[i] = (char)(i * 7 + i / 256);
    IS(write(ends[1], block, TOTAL), TOTAL);
    done = 1;
    OK(close(ends[1]));
    return unused;
}

static void test(void)
{
    static char buffer[10000];
    long seen = 0;
    ssize_t got;
    done = 0;
    OK(pipe(ends));
    pthread_t thread = start(write_it, NULL);
    let_block();
    IS(done, 0);
    while ((got = read(ends[0], buffer, sizeof buffer)) > 0)
        for (ssize_t i = 0; i < got; i++, seen++)
            IS(buffer[i], (char)(seen * 7 + seen / 256));
    IS(got, 0);
    IS(seen, TOTAL);
    finish(thread);
    OK(close(ends[0]));
}

int main(void)
{
    return on_both(test);
}
