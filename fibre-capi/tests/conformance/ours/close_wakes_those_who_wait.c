/* close: a read or accept of the same descriptor that waits in another thread ends with -1 and EBADF. */
#include "../check.h"

#include <netinet/in.h>
#include <sys/socket.h>

static int ends[2], listener;
static atomic_int waiting;

static void *run(void *accepts)
{
    char byte;
    waiting++;
    if (accepts)
        FAILS(accept(listener, NULL, NULL), EBADF);
    else
        FAILS(read(ends[0], &byte, 1), EBADF);
    return NULL;
}

static void test(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    waiting = 0;
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    CHECK((listener = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    OK(bind(listener, (struct sockaddr *)&address, sizeof address));
    OK(listen(listener, 5));
    pthread_t threads[2] = {start(run, NULL), start(run, ends)};
    AWAIT(waiting == 2);
    for (int turn = 0; turn < 3; turn++)
        let_block();
    OK(close(ends[0]));
    OK(close(listener));
    finish(threads[0]);
    finish(threads[1]);
    OK(close(ends[1]));
}

static void *in_thread(void *unused)
{
    test();
    return unused;
}

int main(void)
{
    watch();
    finish(start(in_thread, NULL));
    return 0;
}
