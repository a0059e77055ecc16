/*
 * A web server over one loop of libevent, with a bufferevent for each connection, for the load of
 * the harness. `peer-libevent server --body N` prints the address it listens on, and ends when its
 * standard input is closed. Without arguments it lists its workloads, of which there are none.
 *
 * To build it:
 *
 *     cc -O2 -o peer-libevent main.c -levent
 */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>

/* How many connections may wait to be accepted. */
#define BACKLOG 4096

/* The answer to every request. */
static char *answer;
static size_t answer_length;

/* Makes the answer, with a body of so many bytes. */
static void make_answer(size_t body) {
    char head[128];
    const int length = snprintf(head, sizeof head,
                                "HTTP/1.1 200 OK\r\nServer: hi\r\nContent-Length: %zu\r\n\r\n", body);
    answer_length = (size_t)length + body;
    answer = malloc(answer_length);
    if (answer == NULL) {
        exit(1);
    }
    memcpy(answer, head, (size_t)length);
    memset(answer + length, 'x', body);
}

/* Answers each request whose head has come. */
static void on_read(struct bufferevent *connection, void *unused) {
    (void)unused;
    struct evbuffer *input = bufferevent_get_input(connection);
    struct evbuffer *output = bufferevent_get_output(connection);
    for (;;) {
        struct evbuffer_ptr end = evbuffer_search(input, "\r\n\r\n", 4, NULL);
        if (end.pos < 0) {
            return;
        }
        evbuffer_drain(input, (size_t)end.pos + 4);
        evbuffer_add_reference(output, answer, answer_length, NULL, NULL);
    }
}

/* Closes a connection that has ended, or failed. */
static void on_event(struct bufferevent *connection, short what, void *unused) {
    (void)unused;
    if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) {
        bufferevent_free(connection);
    }
}

/* Takes a connection. */
static void on_accept(struct evconnlistener *listener, evutil_socket_t socket,
                      struct sockaddr *address, int length, void *unused) {
    (void)address, (void)length, (void)unused;
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct event_base *base = evconnlistener_get_base(listener);
    struct bufferevent *connection = bufferevent_socket_new(base, socket, BEV_OPT_CLOSE_ON_FREE);
    if (connection == NULL) {
        close(socket);
        return;
    }
    bufferevent_setcb(connection, on_read, NULL, on_event, NULL);
    bufferevent_enable(connection, EV_READ | EV_WRITE);
}

/* Ends the process when nobody holds its input any more. */
static void on_input(evutil_socket_t input, short what, void *unused) {
    (void)what, (void)unused;
    char ignored[64];
    if (read(input, ignored, sizeof ignored) <= 0) {
        exit(0);
    }
}

/* Serves for ever. */
static int serve(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    struct event_base *base = event_base_new();
    struct evconnlistener *listener = evconnlistener_new_bind(
        base, on_accept, NULL, LEV_OPT_CLOSE_ON_FREE, BACKLOG, (struct sockaddr *)&address, sizeof address);
    if (listener == NULL) {
        perror("peer-libevent");
        return 1;
    }
    getsockname(evconnlistener_get_fd(listener), (struct sockaddr *)&address, &length);
    printf("listening on 127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    /* epoll refuses what is no pipe; then nobody closes it either. */
    struct event *input = event_new(base, STDIN_FILENO, EV_READ | EV_PERSIST, on_input, NULL);
    if (input != NULL) {
        event_add(input, NULL);
    }
    return event_base_dispatch(base) == 0 ? 0 : 1;
}

int main(int count, char **arguments) {
    if (count < 2) {
        return 0;
    }
    size_t body = 13;
    for (int index = 2; index + 1 < count; index += 2) {
        if (strcmp(arguments[index], "--body") == 0) {
            body = (size_t)atol(arguments[index + 1]);
        } else if (strcmp(arguments[index], "--processors") != 0) {
            fprintf(stderr, "peer-libevent: %s is no option\n", arguments[index]);
            return 2;
        }
    }
    if (strcmp(arguments[1], "server") != 0) {
        fprintf(stderr, "peer-libevent: there is no workload %s\n", arguments[1]);
        return 2;
    }
    make_answer(body);
    return serve();
}
