/* accept, close, pthread_cancel: a thread that does nothing but accept ends when its listener has been closed and it is cancelled. */
#include "../check.h"

#include <netinet/in.h>
#include <sys/socket.h>

static int listener;
static atomic_int accepting;

static void *run(void *unused)
{
    for (;;) {
        accepting = 1;
        int served = accept(listener, NULL, NULL);
        if (served >= 0)
            close(served);
    }
    return unused;
}

/* Closes the listener first, and cancels its thread when that may have seen it. */
static void test(void)
{
    for (int waits = 0; waits < 2; waits++) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        accepting = 0;
        CHECK((listener = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
        OK(bind(listener, (struct sockaddr *)&address, sizeof address));
        OK(listen(listener, 5));
        pthread_t thread = start(run, NULL);
        AWAIT(accepting);
        if (waits)
            let_block();
        OK(close(listener));
        OK(pthread_cancel(thread));
        CHECK(finish(thread) == PTHREAD_CANCELED);
    }
}

int main(void)
{
    return on_both(test);
}
