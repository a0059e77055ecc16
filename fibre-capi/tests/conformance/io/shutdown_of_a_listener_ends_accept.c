/* accept, shutdown: a listener that is shut down for receiving accepts no more: those who wait, and those who come later, get EINVAL. */
#include "../check.h"

#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

static void *accept_none(void *fd)
{
    FAILS(accept(*(int *)fd, NULL, NULL), EINVAL);
    return fd;
}

static void shut_down(int family, int how, int dups)
{
    struct sockaddr_un address = {.sun_family = (sa_family_t)family};
    socklen_t length = family == AF_UNIX ? sizeof address.sun_family : sizeof(struct sockaddr_in);
    int listener = socket(family, SOCK_STREAM, 0);
    CHECK(listener >= 0);
    OK(bind(listener, (struct sockaddr *)&address, length));
    OK(listen(listener, 5));
    int other = dups ? dup(listener) : listener;
    pthread_t acceptor = start(accept_none, &listener);
    let_block();
    OK(shutdown(other, how));
    finish(acceptor);
    FAILS(accept(listener, NULL, NULL), EINVAL);
    if (dups)
        OK(close(other));
    OK(close(listener));
}

static void test(void)
{
    for (int dups = 0; dups < 2; dups++) {
        shut_down(AF_INET, SHUT_RD, dups);
        shut_down(AF_INET, SHUT_RDWR, dups);
        shut_down(AF_UNIX, SHUT_RD, dups);
        shut_down(AF_UNIX, SHUT_RDWR, dups);
    }
}

int main(void) { return on_both(test); }
