/* errno: its address is the thread's own, and stays so over calls that wait; so does what calls leave there. */
#include "../check.h"
/* with: FIBRE_THREAD_LOCALS=own */

static int *places[2];
static sem_t met;

static void *run(void *number)
{
    int own = (int)(intptr_t)number;
    int *place = &errno;
    places[own] = place;
    for (int round = 0; round < 100; round++) {
        char byte;
        IS(own ? close(-1) : read(-1, &byte, 1), -1);
        sched_yield();
        CHECK(place == &errno);
        IS(*place, EBADF);
        *place = own + 1;
        if (round % 10 == 0)
            usleep(100);
        IS(errno, own + 1);
    }
    OK(sem_post(&met));
    /* Both are there. */
    OK(sem_wait(&met));
    return NULL;
}

static void test(void)
{
    OK(sem_init(&met, 0, 0));
    pthread_t threads[2] = {start(run, (void *)0), start(run, (void *)1)};
    finish(threads[0]);
    finish(threads[1]);
    CHECK(places[0] != places[1]);
    OK(sem_destroy(&met));
}

int main(void)
{
    return on_both(test);
}
