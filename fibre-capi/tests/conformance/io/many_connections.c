/* read, write: 100 threads that wait on 100 sockets are each woken by what is for them. */
#include "../check.h"

#include <sys/socket.h>

#define PAIRS 100

static int ends[PAIRS][2];

static void *echo(void *number)
{
    int mine = ends[(intptr_t)number][1];
    char byte;
    while (read(mine, &byte, 1) == 1)
        IS(write(mine, &byte, 1), 1);
    OK(close(mine));
    return NULL;
}

static void test(void)
{
    pthread_t threads[PAIRS];
    for (intptr_t i = 0; i < PAIRS; i++) {
        OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends[i]));
        threads[i] = start(echo, (void *)i);
    }
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < PAIRS; i++) {
            char byte = (char)(i + round);
            IS(write(ends[i * 7 % PAIRS][0], &byte, 1), 1);
        }
        for (int i = PAIRS - 1; i >= 0; i--) {
            char byte = 0;
            IS(read(ends[i * 7 % PAIRS][0], &byte, 1), 1);
            IS(byte, (char)(i + round));
        }
    }
    for (int i = 0; i < PAIRS; i++)
        OK(close(ends[i][0]));
    for (int i = 0; i < PAIRS; i++)
        finish(threads[i]);
}

int main(void)
{
    return on_both(test);
}
