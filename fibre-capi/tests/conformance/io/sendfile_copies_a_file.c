/* sendfile: copies from the offset, which it moves, and waits for the socket if it is full. */
#include "../check.h"

#include <sys/sendfile.h>
#include <sys/socket.h>

#define TOTAL 500000

static int ends[2];

static void *drain(void *unused)
{
    static char buffer[3000];
    long got, seen = 0;
    while ((got = read(ends[0], buffer, sizeof buffer)) > 0)
        for (long i = 0; i < got; i++, seen++)
            IS(buffer[i], (char)(seen % 253));
    IS(got, 0);
    IS(seen, TOTAL);
    return unused;
}

static void test(void)
{
    static char block[TOTAL];
    char name[] = "/tmp/conformance-XXXXXX";
    off_t offset = 0;
    int file = mkstemp(name);
    OK(unlink(name));
    for (int i = 0; i < TOTAL; i++)
        block[i] = (char)(i % 253);
    IS(write(file, block, TOTAL), TOTAL);
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    pthread_t thread = start(drain, NULL);
    while (offset < TOTAL)
        CHECK(sendfile(ends[1], file, &offset, TOTAL - offset) > 0);
    IS(sendfile(ends[1], file, &offset, 1), 0);
    OK(shutdown(ends[1], SHUT_WR));
    finish(thread);
    OK(close(file));
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void) { return on_both(test); }
