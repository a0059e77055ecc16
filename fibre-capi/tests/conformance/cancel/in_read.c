/* read, readv, recv: cancellation points; what comes later is not consumed. */
#include "../check.h"

#include <sys/socket.h>
#include <sys/uio.h>

static int ends[2];
static atomic_int reading;

static void *run(void *number)
{
    char byte;
    struct iovec part = {&byte, 1};
    reading = 1;
    switch ((intptr_t)number) {
    case 0:
        IS(read(ends[0], &byte, 1), 77);
        break;
    case 1:
        IS(readv(ends[0], &part, 1), 77);
        break;
    default:
        IS(recv(ends[0], &byte, 1, 0), 77);
    }
    return number;
}

static void test(void)
{
    char byte = 0;
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    for (intptr_t i = 0; i < 3; i++) {
        reading = 0;
        pthread_t thread = start(run, (void *)i);
        AWAIT(reading);
        let_block();
        OK(pthread_cancel(thread));
        CHECK(finish(thread) == PTHREAD_CANCELED);
    }
    IS(write(ends[1], "x", 1), 1);
    IS(read(ends[0], &byte, 1), 1);
    IS(byte, 'x');
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
