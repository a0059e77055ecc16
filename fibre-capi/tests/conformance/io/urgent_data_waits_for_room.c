/* send: MSG_OOB waits for room as other data does. */
#include "../check.h"

#include <netinet/in.h>
#include <sys/socket.h>

static int ours, theirs;
static atomic_int sent;
static char many[1 << 16];

static void *run(void *unused)
{
    IS(send(ours, "x", 1, MSG_OOB), 1);
    sent = 1;
    return unused;
}

static void test(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    sent = 0;
    CHECK(listener >= 0 && (ours = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    OK(bind(listener, (struct sockaddr *)&address, length));
    OK(listen(listener, 1));
    OK(getsockname(listener, (struct sockaddr *)&address, &length));
    OK(connect(ours, (struct sockaddr *)&address, length));
    CHECK((theirs = accept(listener, NULL, NULL)) >= 0);
    /* It is full only after the peer's side has taken what it can. */
    for (int turn = 0; turn < 5; turn++) {
        while (send(ours, many, sizeof many, MSG_DONTWAIT) > 0)
            ;
        let_block();
    }
    pthread_t thread = start(run, NULL);
    let_block();
    while (!sent) {
        ssize_t got = recv(theirs, many, sizeof many, MSG_DONTWAIT);
        CHECK(got > 0 || (got < 0 && errno == EAGAIN));
        sched_yield();
    }
    finish(thread);
    OK(close(ours));
    OK(close(theirs));
    OK(close(listener));
}

int main(void)
{
    return on_both(test);
}
