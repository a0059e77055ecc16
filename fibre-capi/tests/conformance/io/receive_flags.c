/* recv: MSG_PEEK leaves the data, MSG_DONTWAIT is EAGAIN if there is none, MSG_WAITALL waits for all of it. */
#include "../check.h"

#include <sys/socket.h>

static int ends[2];

static void *send_in_parts(void *unused)
{
    for (int i = 0; i < 4; i++) {
        let_block();
        IS(send(ends[1], "abcd" + i, 1, 0), 1);
    }
    return unused;
}

static void test(void)
{
    char buffer[4] = "";
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    FAILS(recv(ends[0], buffer, 1, MSG_DONTWAIT), EAGAIN);
    pthread_t thread = start(send_in_parts, NULL);
    IS(recv(ends[0], buffer, 1, MSG_PEEK), 1);
    IS(buffer[0], 'a');
    IS(recv(ends[0], buffer, 4, MSG_WAITALL), 4);
    CHECK(memcmp(buffer, "abcd", 4) == 0);
    finish(thread);
    FAILS(recv(ends[0], buffer, 1, MSG_DONTWAIT), EAGAIN);
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
