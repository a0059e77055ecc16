/* pthread_mutex_lock: two mutexes in two orders, while a listener is open: both threads are named, with the owners. */
/* only: ours */
/* patience: 120 */
#include "hangs.h"

static pthread_mutex_t a, b;
static pthread_barrier_t both;

__attribute__((noinline)) static void takes_both(pthread_mutex_t *first, pthread_mutex_t *second)
{
    OK(pthread_mutex_lock(first));
    pthread_barrier_wait(&both);
    OK(pthread_mutex_lock(second));
    OK(pthread_mutex_unlock(second));
    OK(pthread_mutex_unlock(first));
}

static void *ab(void *unused)
{
    takes_both(&a, &b);
    return unused;
}

static void *ba(void *unused)
{
    takes_both(&b, &a);
    return unused;
}

static void hang(void)
{
    OK(pthread_barrier_init(&both, NULL, 2));
    listen_too();
    /* Owners are known of mutexes that were initialised by a call. */
    OK(pthread_mutex_init(&a, NULL));
    OK(pthread_mutex_init(&b, NULL));
    start_named("ab", ab, NULL);
    start_named("ba", ba, NULL);
}

int main(int argc, char **argv)
{
    static const struct told told = {
        .dump = {"\"ab\"", "takes_both at ", "two_mutexes_in_two_orders.c:", NULL,
                 "they wait for each other: fibre "},
        .deadlock = {"they wait for each other: fibre ", "\"ab\" waits for the mutex at 0x",
                     "\"ba\" waits for the mutex at 0x", ", held by fibre ", "two_mutexes_in_two_orders.c:"},
    };
    return hangs(argc, argv, hang, &told);
}
