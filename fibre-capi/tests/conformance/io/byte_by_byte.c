/* read, write: 20,000 bytes written in blocks arrive when read one by one, in order. */
#include "../check.h"

#include <sys/socket.h>

#define TOTAL 20000

static int ends[2];

static void *write_it(void *unused)
{
    unsigned char block[333];
    for (int sent = 0; sent < TOTAL;) {
        int length = TOTAL - sent < 333 ? TOTAL - sent : 333;
        for (int i = 0; i < length; i++)
            block[i] = (unsigned char)((sent + i) % 251);
        IS(write(ends[1], block, length), length);
        sent += length;
    }
    OK(shutdown(ends[1], SHUT_WR));
    return unused;
}

static void test(void)
{
    unsigned char byte;
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    pthread_t thread = start(write_it, NULL);
    for (int i = 0; i < TOTAL; i++) {
        IS(read(ends[0], &byte, 1), 1);
        IS(byte, i % 251);
    }
    IS(read(ends[0], &byte, 1), 0);
    finish(thread);
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
