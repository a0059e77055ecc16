/* errno: in one function, on both sides of calls that wait, while each wake moves the thread to another processor. */
#include "../check.h"

/* with: FIBRE_MOVES=forced */

static int ends[2][2];

static void *pass_on(void *side)
{
    int mine = (int)(intptr_t)side;
    for (int round = 0; round < 300; round++) {
        char byte;
        FAILS(mine ? close(-1) : read(ends[mine][1], &byte, 1), EBADF);
        errno = 100 + mine;
        IS(read(ends[mine][0], &byte, 1), 1);
        IS(errno, 100 + mine);
        errno = 200 + mine;
        IS(write(ends[!mine][1], &byte, 1), 1);
        IS(errno, 200 + mine);
        sched_yield();
        IS(errno, 200 + mine);
    }
    return NULL;
}

static void test(void)
{
    OK(pipe(ends[0]));
    OK(pipe(ends[1]));
    pthread_t threads[2] = {start(pass_on, (void *)0), start(pass_on, (void *)1)};
    IS(write(ends[0][1], "x", 1), 1);
    finish(threads[0]);
    finish(threads[1]);
    for (int i = 0; i < 4; i++)
        OK(close(ends[i / 2][i % 2]));
}

int main(void)
{
    return on_both(test);
}
