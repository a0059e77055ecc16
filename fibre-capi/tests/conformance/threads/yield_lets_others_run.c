/* sched_yield: returns 0; two threads that yield until the other has moved both get on. */
#include "../check.h"

#define TURNS 200

static atomic_int turn;

static void *play(void *side)
{
    for (int round = 0; round < TURNS; round++) {
        while (turn != 2 * round + (int)(intptr_t)side)
            OK(sched_yield());
        turn++;
    }
    return NULL;
}

static void test(void)
{
    turn = 0;
    pthread_t other = start(play, (void *)1);
    play((void *)0);
    finish(other);
    IS(turn, 2 * TURNS);
}

int main(void)
{
    return on_both(test);
}
