/* pthread_create: if it returns 0 the thread runs, however few addresses are left; else it says EAGAIN. */
/* flags: -O2 */
/* flags: -O2 -DGUARD */
#include "../addresses.h"

#define TRIES 500

static const size_t KIB = 1024;
static atomic_int ran;

static void *run(void *unused)
{
    ran++;
    sched_yield();
    return unused;
}

/* Creates threads with so much stack while there are so many bytes of addresses; how many there were. */
static int create(size_t stack, size_t addresses, int detached)
{
    static pthread_t threads[TRIES];
    pthread_attr_t attr;
    int created = 0;
    ran = 0;
    OK(pthread_attr_init(&attr));
    if (stack)
        OK(pthread_attr_setstacksize(&attr, stack));
    if (detached)
        OK(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED));
    limit_addresses(addresses);
    for (int one = 0; one < TRIES; one++) {
        int error = pthread_create(&threads[created], &attr, run, NULL);
        if (error)
            IS(error, EAGAIN);
        created += !error;
    }
    if (!detached)
        for (int one = 0; one < created; one++)
            finish(threads[one]);
    while (ran < created)
        usleep(1000);
    unlimit_addresses();
    OK(pthread_attr_destroy(&attr));
    return created;
}

static void test(void)
{
    const size_t stacks[] = {0, 64 * KIB, 512 * KIB, 16 * 1024 * KIB, 128 * 1024 * KIB};
    finish(start(run, NULL));
    for (size_t one = 0; one < sizeof stacks / sizeof *stacks; one++)
        for (int detached = 0; detached < 2; detached++) {
            create(stacks[one], 4096 * KIB, detached);
            create(stacks[one], 100 * 1024 * KIB, detached);
            /* A limit that is lifted leaves nothing behind. */
            CHECK(create(stacks[one], (size_t)1 << 38, detached) > 0);
        }
}

int main(void)
{
#ifdef GUARD
    setenv("FIBRE_GUARD", "mprotect", 1);
#endif
    return on_both(test);
}
