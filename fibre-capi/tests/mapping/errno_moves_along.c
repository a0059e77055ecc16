/* errno: is a thread's own over calls that block, and is that of the call before it. */
/* with: FIBRE_MOVES=forced */
/* flags: -O0 */
/* flags: -O2 */
/* flags: -O3 -flto */
#include "../conformance/check.h"

enum { THREADS = 8, ROUNDS = 200 };

static sem_t turns[THREADS];

/* Goes round: each thread lets the next one go on, and blocks until it is its turn again. */
static void *run(void *place)
{
    int me = (int)(intptr_t)place;
    for (int round = 0; round < ROUNDS; round++) {
        errno = 1000 * me + round;
        OK(sem_post(&turns[(me + 1) % THREADS]));
        OK(sem_wait(&turns[me]));
        IS(errno, 1000 * me + round);
        errno = 0;
        OK(sem_post(&turns[(me + 1) % THREADS]));
        OK(sem_wait(&turns[me]));
        IS(close(-1), -1);
        IS(errno, EBADF);
        IS(read(-1, NULL, 0), -1);
        IS(errno, EBADF);
        IS(lseek(0, 0, 99), -1);
        CHECK(errno == EINVAL || errno == ESPIPE);
    }
    return place;
}

int main(void)
{
    pthread_t threads[THREADS];
    watch();
    for (int place = 0; place < THREADS; place++)
        OK(sem_init(&turns[place], 0, 0));
    for (intptr_t place = 0; place < THREADS; place++)
        threads[place] = start(run, (void *)place);
    for (int place = 0; place < THREADS; place++)
        IS(finish(threads[place]), place);
    return 0;
}
