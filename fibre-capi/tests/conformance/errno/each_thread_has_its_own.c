/* errno: what a call sets in one thread no other thread sees. */
#include "../check.h"

static void *fail(void *number)
{
    int mine = (int)(intptr_t)number;
    for (int round = 0; round < 50; round++) {
        errno = mine;
        for (int turn = 0; turn < 3; turn++) {
            sched_yield();
            IS(errno, mine);
        }
    }
    return NULL;
}

static void test(void)
{
    pthread_t threads[8];
    for (intptr_t i = 0; i < 8; i++)
        threads[i] = start(fail, (void *)(i + 1));
    for (int i = 0; i < 8; i++)
        finish(threads[i]);
}

int main(void)
{
    return on_both(test);
}
