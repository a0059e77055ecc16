/* fibre_fd_wait: while there is only urgent data, which it was not asked for, it waits and does not try again and again. */
#include "../check.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

int fibre_fd_wait(int fd, int events, const struct timespec *deadline);

/* Processor time so far, in milliseconds. */
static long worked(void)
{
    struct timespec time;
    OK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time));
    return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void *run(void *unused)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), theirs = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(listener >= 0 && theirs >= 0);
    OK(bind(listener, (struct sockaddr *)&address, length));
    OK(listen(listener, 5));
    OK(getsockname(listener, (struct sockaddr *)&address, &length));
    OK(connect(theirs, (struct sockaddr *)&address, length));
    /* The library has not seen this one. */
    int ours = syscall(SYS_accept, listener, NULL, NULL);
    CHECK(ours >= 0);
    IS(send(theirs, "x", 1, MSG_OOB), 1);
    long before = worked();
    struct timespec end = in_ms(CLOCK_MONOTONIC, 800);
    IS(fibre_fd_wait(ours, POLLIN, &end), 0);
    CHECK(worked() - before < 100);
    OK(close(ours));
    OK(close(theirs));
    OK(close(listener));
    return unused;
}

int main(void)
{
    watch();
    finish(start(run, NULL));
    return 0;
}
