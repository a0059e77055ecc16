/* accept: those who begin it at the same time on a new listener all wait, where they can be cancelled. */
#include "../check.h"

#include <netinet/in.h>
#include <sys/socket.h>

#define TURNS 300
#define THREADS 4

static int listener;
static atomic_int ready;

static void *run(void *unused)
{
    ready++;
    while (ready < THREADS)
        sched_yield();
    accept(listener, NULL, NULL);
    return unused;
}

static void test(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    /* Where others compute, each yield may cost a slice of theirs: then fewer turns do. */
    struct timespec end = in_ms(CLOCK_MONOTONIC, 5000);
    for (int turn = 0; turn < TURNS && !is_past(CLOCK_MONOTONIC, end); turn++) {
        pthread_t threads[THREADS];
        CHECK((listener = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
        OK(bind(listener, (struct sockaddr *)&address, sizeof address));
        OK(listen(listener, 5));
        ready = 0;
        for (int one = 0; one < THREADS; one++)
            threads[one] = start(run, NULL);
        AWAIT(ready == THREADS);
        for (int yields = 0; yields < 20; yields++)
            sched_yield();
        IS(fcntl(listener, F_GETFL) & O_NONBLOCK, 0);
        for (int one = 0; one < THREADS; one++)
            OK(pthread_cancel(threads[one]));
        for (int one = 0; one < THREADS; one++)
            CHECK(finish(threads[one]) == PTHREAD_CANCELED);
        OK(close(listener));
    }
}

int main(void)
{
    return on_both(test);
}
