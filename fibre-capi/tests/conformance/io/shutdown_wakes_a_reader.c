/* shutdown: SHUT_RD ends a read of the same socket that waits in another thread; it returns 0. */
#include "../check.h"

#include <sys/socket.h>

static int ends[2];
static atomic_int reading;

static void *read_it(void *unused)
{
    char byte;
    reading = 1;
    IS(recv(ends[0], &byte, 1, 0), 0);
    return unused;
}

static void test(void)
{
    reading = 0;
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    pthread_t thread = start(read_it, NULL);
    AWAIT(reading);
    let_block();
    OK(shutdown(ends[0], SHUT_RD));
    finish(thread);
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
