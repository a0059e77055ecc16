/* pthread_create: who tries again and again after EAGAIN gets a thread once others have ended. */
/* with: FIBRE_MAX_FIBRES=24 */
#include "../addresses.h"

#define CREATORS 10
#define EACH 100

static atomic_int ran, begun;

static void *run(void *unused)
{
    sched_yield();
    ran++;
    return unused;
}

/* Calls nothing else that lets others run, once it has begun. */
static void *create(void *stack)
{
    pthread_attr_t attr;
    pthread_t thread;
    int error;
    AWAIT(begun);
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED));
    OK(pthread_attr_setstacksize(&attr, (size_t)stack));
    for (int one = 0; one < EACH; one++) {
        while ((error = pthread_create(&thread, &attr, run, NULL)))
            IS(error, EAGAIN);
    }
    OK(pthread_attr_destroy(&attr));
    return NULL;
}

/* Creates threads from many sides at once. */
static void crowd(size_t stack, size_t addresses)
{
    pthread_t creators[CREATORS];
    ran = begun = 0;
    for (int one = 0; one < CREATORS; one++)
        creators[one] = start(create, (void *)stack);
    limit_addresses(addresses);
    begun = 1;
    for (int one = 0; one < CREATORS; one++)
        finish(creators[one]);
    while (ran < CREATORS * EACH)
        usleep(1000);
    unlimit_addresses();
}

static void test(void)
{
    /* The number of fibres is the limit, then the addresses are. */
    crowd(1 << 16, (size_t)1 << 34);
    crowd(1 << 24, 100 << 20);
}

int main(void)
{
    return on_both(test);
}
