/* read, write, readv, recv, send, accept, connect, close, poll, select, waitpid, sem_wait: a pending request acts in
 * a call that could end at once, and what it would have done is still to do. */
#include "table.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

static int pair[2], listener, client, spare, child;
static struct sockaddr_in address = {.sin_family = AF_INET};
static sem_t sem;

static int turn(int number)
{
    char byte = 0;
    struct iovec part = {&byte, 1};
    struct pollfd one = {.fd = pair[0], .events = POLLIN};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(pair[0], &set);
    TRY(read(pair[0], &byte, 1));
    TRY(read(pair[0], &byte, 0));
    TRY(readv(pair[0], &part, 1));
    TRY(recv(pair[0], &byte, 1, MSG_DONTWAIT));
    TRY(write(pair[0], &byte, 1));
    TRY(write(pair[0], &byte, 0));
    TRY(send(pair[0], &byte, 1, 0));
    TRY(accept(listener, NULL, NULL));
    TRY(connect(spare, (struct sockaddr *)&address, sizeof address));
    TRY(close(spare));
    TRY(poll(&one, 1, -1));
    TRY(select(pair[0] + 1, &set, NULL, NULL, NULL));
    TRY(waitpid(child, NULL, WNOHANG));
    TRY(waitpid(child, NULL, 0));
    TRY(sem_wait(&sem));
    return 0;
}

static void test(void)
{
    char bytes[2] = "";
    int value = -1, status = -1;
    socklen_t length = sizeof address;
    OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    IS(write(pair[1], "x", 1), 1);
    CHECK((listener = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    OK(bind(listener, (struct sockaddr *)&address, sizeof address));
    OK(listen(listener, 5));
    OK(getsockname(listener, (struct sockaddr *)&address, &length));
    CHECK((client = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    OK(connect(client, (struct sockaddr *)&address, sizeof address));
    CHECK((spare = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    OK(sem_init(&sem, 0, 1));
    if ((child = fork()) == 0)
        _exit(7);
    siginfo_t seen;
    OK(waitid(P_PID, child, &seen, WEXITED | WNOWAIT));
    each_ends_its_thread();
    IS(recv(pair[0], bytes, 2, MSG_DONTWAIT), 1);
    FAILS(recv(pair[1], bytes, 2, MSG_DONTWAIT), EAGAIN);
    int served = accept(listener, NULL, NULL);
    CHECK(served >= 0);
    FAILS(getpeername(spare, (struct sockaddr *)&address, &length), ENOTCONN);
    IS(waitpid(child, &status, 0), child);
    IS(WEXITSTATUS(status), 7);
    OK(sem_getvalue(&sem, &value));
    IS(value, 1);
    int all[] = {pair[0], pair[1], listener, client, spare, served};
    for (int i = 0; i < 6; i++)
        OK(close(all[i]));
}

int main(void)
{
    return on_both(test);
}
