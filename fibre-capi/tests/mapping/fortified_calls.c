/* read, recv, recvfrom, poll, pread: fortified calls block the fibre, and do what they are told. */
/* flags: -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 */
/* flags: -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -D_FILE_OFFSET_BITS=64 */
/* flags: -O2 -U_FORTIFY_SOURCE */
#include "../conformance/check.h"

#include <poll.h>
#include <sys/socket.h>

static int ends[2];
static sem_t wanted;

/* The other one sends a byte, later. */
#define BYTE OK(sem_post(&wanted))

/* A number that the compiler does not know. */
static size_t about(size_t number)
{
    volatile size_t kept = number;
    return kept;
}

static void *send_often(void *unused)
{
    for (int turn = 0; turn < 8; turn++) {
        OK(sem_wait(&wanted));
        /* The other one shall find nothing there, and block. */
        let_block();
        IS(send(ends[1], "x", 1, 0), 1);
    }
    return unused;
}

static void test(void)
{
    char bytes[8];
    struct pollfd polled[2] = {{-1, POLLIN, 0}, {-1, POLLIN, 0}};
    OK(sem_init(&wanted, 0, 0));
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    polled[1].fd = ends[0];
    pthread_t thread = start(send_often, NULL);
    BYTE;
    IS(read(ends[0], bytes, about(1)), 1);
    BYTE;
    IS(read(ends[0], bytes, sizeof bytes), 1);
    BYTE;
    IS(recv(ends[0], bytes, about(2), 0), 1);
    BYTE;
    IS(recv(ends[0], bytes, sizeof bytes, 0), 1);
    BYTE;
    IS(recvfrom(ends[0], bytes, about(3), 0, NULL, NULL), 1);
    BYTE;
    IS(poll(polled, about(2), -1), 1);
    IS(recvfrom(ends[0], bytes, sizeof bytes, 0, NULL, NULL), 1);
    BYTE;
    IS(poll(polled, 2, 10000), 1);
    IS(read(ends[0], bytes, about(8)), 1);
    BYTE;
    IS(read(ends[0], bytes, about(8)), 1);
    finish(thread);
    OK(close(ends[0]));
    OK(close(ends[1]));
    FILE *file = tmpfile();
    CHECK(file);
    IS(pwrite(fileno(file), "offset", 6, 3), 6);
    IS(pread(fileno(file), bytes, about(4), 5), 4);
    OK(memcmp(bytes, "fset", 4));
    IS(pread(fileno(file), bytes, sizeof bytes, 3), 6);
    fclose(file);
}

int main(void)
{
    return on_both(test);
}
