/* sem_wait, read and their kin: a pending request acts even if the call could go on at once, and nothing is taken. */
#include "../check.h"

static sem_t asked, sem;
static int pipe_ends[2];

static void *run(void *reads)
{
    char byte;
    OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
    OK(sem_wait(&asked));
    OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL));
    IS(reads ? read(pipe_ends[0], &byte, 1) : sem_wait(&sem), 77);
    return NULL;
}

static void test(void)
{
    int value = -1;
    char byte = 0;
    OK(pipe(pipe_ends));
    IS(write(pipe_ends[1], "x", 1), 1);
    OK(sem_init(&sem, 0, 1));
    OK(sem_init(&asked, 0, 0));
    pthread_t threads[2] = {start(run, NULL), start(run, &sem)};
    for (int i = 0; i < 2; i++)
        OK(pthread_cancel(threads[i]));
    for (int i = 0; i < 2; i++)
        OK(sem_post(&asked));
    for (int i = 0; i < 2; i++)
        CHECK(finish(threads[i]) == PTHREAD_CANCELED);
    OK(sem_getvalue(&sem, &value));
    IS(value, 1);
    IS(read(pipe_ends[0], &byte, 1), 1);
    IS(byte, 'x');
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

int main(void)
{
    return on_both(test);
}
