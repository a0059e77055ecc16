/* sem_init, sem_wait, sem_post, sem_trywait: permits go from one process to another, each once. */
#include "shared.h"

#define THREADS 4
#define EACH 250

static struct {
    sem_t there, back;
    atomic_int taken;
} *all;

/* Posts as many as the threads wait for, and waits for as many. */
static void in_plain_child(void)
{
    for (int i = 0; i < THREADS * EACH; i++) {
        OK(PLAIN(sem_post)(&all->there));
        while (PLAIN(sem_wait)(&all->back) != 0)
            IS(errno, EINTR);
        all->taken++;
    }
}

static void *in_thread(void *unused)
{
    for (int i = 0; i < EACH; i++) {
        OK(sem_wait(&all->there));
        OK(sem_post(&all->back));
    }
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    int value = -1;
    watch();
    all = share(sizeof *all);
    OK(sem_init(&all->there, 1, 2));
    OK(sem_init(&all->back, 1, 0));
    OK(sem_wait(&all->there));
    OK(sem_getvalue(&all->there, &value));
    IS(value, 1);
    OK(sem_trywait(&all->there));
    FAILS(sem_trywait(&all->there), EAGAIN);
    pid_t one = child(in_plain_child);
    for (int i = 0; i < THREADS; i++)
        threads[i] = start(in_thread, NULL);
    for (int i = 0; i < THREADS; i++)
        finish(threads[i]);
    reap(one);
    IS(all->taken, THREADS * EACH);
    FAILS(sem_trywait(&all->there), EAGAIN);
    FAILS(sem_trywait(&all->back), EAGAIN);
    OK(sem_destroy(&all->there));
    OK(sem_destroy(&all->back));
    return 0;
}
