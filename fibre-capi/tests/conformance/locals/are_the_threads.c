/* sched_yield: a __thread variable, and its address, are the thread's own over calls that wait; a new thread has its first value. */
#include "../check.h"
/* with: FIBRE_THREAD_LOCALS=own */
/* mutant: __thread static */

__thread int depth = 7;
__thread char many[200];

static void *run(void *number)
{
    int own = (int)(intptr_t)number;
    int *place = &depth;
    IS(depth, 7);
    IS(many[199], 0);
    for (int round = 0; round < 20; round++) {
        depth = own + round;
        many[199] = (char)own;
        if (round % 5)
            sched_yield();
        else
            usleep(100);
        CHECK(place == &depth);
        IS(*place, own + round);
        IS(many[199], (char)own);
    }
    return number;
}

static void test(void)
{
    depth = 7;
    for (int round = 0; round < 3; round++) {
        pthread_t threads[30];
        for (intptr_t i = 0; i < 30; i++)
            threads[i] = start(run, (void *)(i + 100));
        for (int i = 0; i < 30; i++)
            IS((intptr_t)finish(threads[i]), i + 100);
        IS(depth, 7);
    }
}

int main(void)
{
    return on_both(test);
}
