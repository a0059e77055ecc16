/* h_errno, gethostbyname: what is left of a look-up in one thread no other thread sees. */
/* mutant: h_errno shared_error */
/* flags: -O0 */
/* flags: -O2 */
#include "../check.h"

#include <netdb.h>

#define THREADS 8

int shared_error;

static pthread_barrier_t barrier;

static void *keep(void *number)
{
    int mine = (int)(intptr_t)number;
    IS(h_errno, 0);
    pthread_barrier_wait(&barrier);
    for (int round = 0; round < 20; round++) {
        h_errno = mine;
        /* By now all have set theirs. */
        pthread_barrier_wait(&barrier);
        IS(h_errno, mine);
        sched_yield();
        IS(h_errno, mine);
        pthread_barrier_wait(&barrier);
    }
    /* No server need be asked for that. */
    CHECK(gethostbyname("") == NULL);
    int error = h_errno;
    CHECK(error != mine && error != 0);
    pthread_barrier_wait(&barrier);
    IS(h_errno, error);
    return NULL;
}

static void test(void)
{
    pthread_t threads[THREADS];
    OK(pthread_barrier_init(&barrier, NULL, THREADS));
    for (intptr_t i = 0; i < THREADS; i++)
        threads[i] = start(keep, (void *)(i + 100));
    for (int i = 0; i < THREADS; i++)
        finish(threads[i]);
    OK(pthread_barrier_destroy(&barrier));
}

int main(void)
{
    return on_both(test);
}
