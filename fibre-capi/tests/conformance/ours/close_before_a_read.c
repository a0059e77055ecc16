/* close: a read that has let others run before it reads ends with -1 and EBADF, and takes nothing from who has the number next. */
/* with: FIBRE_PROCESSORS=1 */
#include "../check.h"

#include <sys/socket.h>

static int fd;
static atomic_int begun;

static void *run(void *unused)
{
    char byte;
    begun = 1;
    FAILS(read(fd, &byte, 1), EBADF);
    return unused;
}

static void test(void)
{
    int ends[2], others[2];
    char byte;
    begun = 0;
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    IS(send(ends[1], "a", 1, 0), 1);
    fd = ends[0];
    pthread_t thread = start(run, NULL);
    AWAIT(begun);
    OK(close(fd));
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, others));
    IS(others[0], fd);
    IS(send(others[1], "b", 1, 0), 1);
    finish(thread);
    IS(recv(others[0], &byte, 1, MSG_DONTWAIT), 1);
    OK(close(others[0]));
    OK(close(others[1]));
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
