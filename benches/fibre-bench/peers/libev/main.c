/*
 * A web server over one loop of libev, with a watcher for each connection and direction, for the
 * load of the harness. `peer-libev server --body N` prints the address it listens on, and ends when
 * its standard input is closed. Without arguments it lists its workloads, of which there are none.
 *
 * To build it:
 *
 *     cc -O2 -o peer-libev main.c -lev
 */

#define _GNU_SOURCE

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ev.h>

/* How many connections may wait to be accepted. */
#define BACKLOG 4096

/* The answer to every request. */
static char *answer;
static size_t answer_length;

/* A connection. */
struct connection {
    struct ev_io reads;
    struct ev_io writes;
    /* How many bytes of the empty line the stream ended with so far. */
    size_t matched;
    /* Answers that have not been sent, and bytes of the first one that have been. */
    size_t due;
    size_t sent;
};

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

/* Ends a connection. */
static void end(struct ev_loop *loop, struct connection *connection) {
    ev_io_stop(loop, &connection->reads);
    ev_io_stop(loop, &connection->writes);
    close(connection->reads.fd);
    free(connection);
}

/* How many requests end in these bytes. */
static size_t requests(struct connection *connection, const char *bytes, ssize_t length) {
    static const char last[] = "\r\n\r\n";
    size_t count = 0;
    for (ssize_t at = 0; at < length; ++at) {
        if (bytes[at] == last[connection->matched]) {
            connection->matched = (connection->matched + 1) % 4;
            count += connection->matched == 0;
        } else {
            connection->matched = bytes[at] == last[0];
        }
    }
    return count;
}

/* Sends what the socket takes; whether the connection lives. */
static int send_due(struct ev_loop *loop, struct connection *connection) {
    while (connection->due > 0) {
        const ssize_t sent = send(connection->reads.fd, answer + connection->sent,
                                  answer_length - connection->sent, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) {
            ev_io_stop(loop, &connection->reads);
            ev_io_start(loop, &connection->writes);
            return 1;
        }
        if (sent < 0) {
            end(loop, connection);
            return 0;
        }
        connection->sent += (size_t)sent;
        if (connection->sent == answer_length) {
            connection->sent = 0;
            --connection->due;
        }
    }
    return 1;
}

/* Answers what has come. */
static void on_read(struct ev_loop *loop, struct ev_io *watcher, int events) {
    (void)events;
    struct connection *connection = watcher->data;
    char buffer[4096];
    const ssize_t length = recv(watcher->fd, buffer, sizeof buffer, 0);
    if (length < 0 && errno == EAGAIN) {
        return;
    }
    if (length <= 0) {
        end(loop, connection);
        return;
    }
    connection->due += requests(connection, buffer, length);
    send_due(loop, connection);
}

/* Goes on with answers that the socket did not take. */
static void on_write(struct ev_loop *loop, struct ev_io *watcher, int events) {
    (void)events;
    struct connection *connection = watcher->data;
    if (send_due(loop, connection) && connection->due == 0) {
        ev_io_stop(loop, &connection->writes);
        ev_io_start(loop, &connection->reads);
    }
}

/* Takes all connections that wait. */
static void on_accept(struct ev_loop *loop, struct ev_io *watcher, int events) {
    (void)events;
    for (;;) {
        const int socket = accept4(watcher->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (socket < 0) {
            return;
        }
        struct connection *connection = calloc(1, sizeof *connection);
        if (connection == NULL) {
            close(socket);
            return;
        }
        const int on = 1;
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        ev_io_init(&connection->reads, on_read, socket, EV_READ);
        ev_io_init(&connection->writes, on_write, socket, EV_WRITE);
        connection->reads.data = connection;
        connection->writes.data = connection;
        ev_io_start(loop, &connection->reads);
    }
}

/* Ends the process when nobody holds its input any more. */
static void on_input(struct ev_loop *loop, struct ev_io *watcher, int events) {
    (void)loop, (void)events;
    char ignored[64];
    if (read(watcher->fd, ignored, sizeof ignored) <= 0) {
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
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, BACKLOG) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &length) != 0) {
        perror("peer-libev");
        return 1;
    }
    printf("listening on 127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    struct ev_loop *loop = ev_default_loop(0);
    static struct ev_io accepts, input;
    ev_io_init(&accepts, on_accept, listener, EV_READ);
    ev_io_start(loop, &accepts);
    ev_io_init(&input, on_input, STDIN_FILENO, EV_READ);
    ev_io_start(loop, &input);
    ev_run(loop, 0);
    return 1;
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
            fprintf(stderr, "peer-libev: %s is no option\n", arguments[index]);
            return 2;
        }
    }
    if (strcmp(arguments[1], "server") != 0) {
        fprintf(stderr, "peer-libev: there is no workload %s\n", arguments[1]);
        return 2;
    }
    make_answer(body);
    return serve();
}
