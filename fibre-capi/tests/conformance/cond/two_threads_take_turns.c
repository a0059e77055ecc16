/* pthread_cond_wait, pthread_cond_signal: two threads that wake each other take turns. */
#include "../check.h"

#define TURNS 500

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t conds[2] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};
static int turn;

static void *play(void *side)
{
    int mine = (int)(intptr_t)side;
    for (int round = 0; round < TURNS; round++) {
        OK(pthread_mutex_lock(&mutex));
        while (turn % 2 != mine)
            OK(pthread_cond_wait(&conds[mine], &mutex));
        IS(turn, 2 * round + mine);
        turn++;
        OK(pthread_cond_signal(&conds[!mine]));
        OK(pthread_mutex_unlock(&mutex));
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
