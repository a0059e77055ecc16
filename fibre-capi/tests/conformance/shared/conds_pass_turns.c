/* pthread_condattr_setpshared, pthread_cond_wait, pthread_cond_signal: threads of several processes wake each other, and no signal is lost. */
#include "shared.h"

#define TURNS 400
#define PARTIES 4

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t cond[PARTIES];
    int turn;
} *all;

static void in_plain_child(void)
{
    OK(PLAIN(pthread_mutex_lock)(&all->mutex));
    while (all->turn < TURNS) {
        while (all->turn % PARTIES != 0 && all->turn < TURNS)
            OK(PLAIN(pthread_cond_wait)(&all->cond[0], &all->mutex));
        all->turn++;
        OK(PLAIN(pthread_cond_signal)(&all->cond[all->turn % PARTIES]));
    }
    OK(PLAIN(pthread_mutex_unlock)(&all->mutex));
}

static void *take_turns(void *number)
{
    int mine = (int)(intptr_t)number;
    OK(pthread_mutex_lock(&all->mutex));
    while (all->turn < TURNS) {
        while (all->turn % PARTIES != mine && all->turn < TURNS)
            OK(pthread_cond_wait(&all->cond[mine], &all->mutex));
        all->turn++;
        OK(pthread_cond_signal(&all->cond[all->turn % PARTIES]));
    }
    OK(pthread_mutex_unlock(&all->mutex));
    return NULL;
}

static void in_child(void)
{
    finish(start(take_turns, (void *)1));
}

int main(void)
{
    watch();
    all = share(sizeof *all);
    init_mutex(&all->mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED);
    for (int i = 0; i < PARTIES; i++)
        init_cond(&all->cond[i], CLOCK_REALTIME);
    pid_t one = child(in_plain_child), other = child(in_child);
    pthread_t thread = start(take_turns, (void *)2);
    take_turns((void *)3);
    finish(thread);
    reap(one);
    reap(other);
    for (int i = 0; i < PARTIES; i++)
        OK(pthread_cond_destroy(&all->cond[i]));
    OK(pthread_mutex_destroy(&all->mutex));
    IS(all->turn, TURNS + PARTIES - 1);
    return 0;
}
