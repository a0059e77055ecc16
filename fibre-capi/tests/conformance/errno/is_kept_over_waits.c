/* errno: kept over pthread_mutex_lock, pthread_cond_wait, pthread_barrier_wait and pthread_join that wait. */
#include "../check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static int turn;

static void *disturb(void *number)
{
    errno = (int)(intptr_t)number;
    sched_yield();
    IS(errno, (intptr_t)number);
    return NULL;
}

static void *wait_in_turn(void *number)
{
    int mine = (int)(intptr_t)number;
    errno = 100 + mine;
    for (int round = 0; round < 20; round++) {
        OK(pthread_mutex_lock(&mutex));
        while (turn % 4 != mine)
            OK(pthread_cond_wait(&cond, &mutex));
        turn++;
        OK(pthread_cond_broadcast(&cond));
        OK(pthread_mutex_unlock(&mutex));
        IS(errno, 100 + mine);
        pthread_barrier_wait(&barrier);
        finish(start(disturb, (void *)(intptr_t)(50 + mine)));
        IS(errno, 100 + mine);
    }
    return NULL;
}

static void test(void)
{
    pthread_t threads[4];
    turn = 0;
    OK(pthread_barrier_init(&barrier, NULL, 4));
    for (intptr_t i = 0; i < 4; i++)
        threads[i] = start(wait_in_turn, (void *)i);
    for (int i = 0; i < 4; i++)
        finish(threads[i]);
    OK(pthread_barrier_destroy(&barrier));
}

int main(void) { return on_both(test); }
