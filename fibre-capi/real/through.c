/* Clients of the servers under comparison, which look at every byte that comes back.
 *
 *     through socks5|connect HOST PORT CLIENTS CONNECTIONS EXCHANGES
 *     through get HOST PORT CLIENTS CONNECTIONS EXCHANGES PATH FILE
 *
 * CLIENTS at a time make CONNECTIONS each, one after the other, with EXCHANGES on each. With `socks5` and `connect` a
 * connection leads through the proxy at HOST:PORT to an echo server in this process, and an exchange is a message of 1 to
 * 1000 bytes that has to come back; with `get` an exchange is a request for PATH, answered with what FILE holds. Prints how
 * many exchanges were right; ends with 1 at the first that is not. */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 1000 };

enum mode { SOCKS5, CONNECT, GET };

static enum mode mode;
static struct sockaddr_in server;   /* whom the clients connect to */
static struct sockaddr_in upstream; /* whom a proxy is to connect to */
static long connections, exchanges;
static const char *path;
static char *body; /* what `path` holds */
static size_t body_length;

static void fail(const char *what) {
    fprintf(stderr, "through: %s: %s\n", what, errno ? strerror(errno) : "not as expected");
    _exit(1);
}

static void must(int right, const char *what) {
    if (!right)
        fail(what);
}

/* Writes all of it. */
static void put(int fd, const void *bytes, size_t count) {
    for (const char *next = bytes; count > 0;) {
        ssize_t written = write(fd, next, count);
        must(written > 0, "write");
        next += written;
        count -= (size_t)written;
    }
}

/* Reads just so many bytes. */
static void get(int fd, void *bytes, size_t count) {
    for (char *next = bytes; count > 0;) {
        errno = 0;
        ssize_t got = read(fd, next, count);
        must(got > 0, "read");
        next += got;
        count -= (size_t)got;
    }
}

/* Reads the head of an HTTP answer, which has to begin with `start`. */
static void get_head(int fd, const char *start) {
    char head[4096];
    size_t length = 0;
    do {
        must(length < sizeof head - 1, "the head of an answer is too long");
        get(fd, head + length++, 1);
        head[length] = 0;
    } while (length < 4 || strcmp(head + length - 4, "\r\n\r\n") != 0);
    errno = 0;
    must(strncmp(head, start, strlen(start)) == 0, head);
}

/* Sends back what it reads, one thread for each connection. */
static void *echo(void *argument) {
    int fd = (int)(long)argument;
    char bytes[MOST];
    ssize_t got;
    while ((got = read(fd, bytes, sizeof bytes)) > 0)
        put(fd, bytes, (size_t)got);
    close(fd);
    return NULL;
}

_Noreturn static void *accept_echoes(void *argument) {
    int listener = (int)(long)argument;
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        must(fd >= 0, "accept");
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        pthread_t thread;
        errno = pthread_create(&thread, NULL, echo, (void *)(long)fd);
        must(errno == 0, "pthread_create");
        pthread_detach(thread);
    }
}

/* Starts the echo server behind the proxy. */
static void start_upstream(void) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t length = sizeof upstream;
    upstream.sin_family = AF_INET;
    upstream.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    must(bind(listener, (struct sockaddr *)&upstream, length) == 0, "bind");
    must(listen(listener, 4096) == 0, "listen");
    must(getsockname(listener, (struct sockaddr *)&upstream, &length) == 0, "getsockname");
    pthread_t thread;
    must(pthread_create(&thread, NULL, accept_echoes, (void *)(long)listener) == 0, "pthread_create");
}

/* A connection that is ready for exchanges. */
static int open_connection(void) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(fd >= 0, "socket");
    must(connect(fd, (struct sockaddr *)&server, sizeof server) == 0, "connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (mode == SOCKS5) {
        char request[10] = {5, 1, 0, 1}, answer[10];
        put(fd, "\5\1\0", 3);
        get(fd, answer, 2);
        errno = 0;
        must(memcmp(answer, "\5\0", 2) == 0, "the greeting of a SOCKS5 proxy");
        memcpy(request + 4, &upstream.sin_addr, 4);
        memcpy(request + 8, &upstream.sin_port, 2);
        put(fd, request, sizeof request);
        get(fd, answer, sizeof answer);
        errno = 0;
        must(memcmp(answer, "\5\0", 2) == 0, "the answer of a SOCKS5 proxy");
    } else if (mode == CONNECT) {
        char request[100];
        int length = snprintf(request, sizeof request, "CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: here\r\n\r\n",
                              ntohs(upstream.sin_port));
        put(fd, request, (size_t)length);
        get_head(fd, "HTTP/1.0 200");
    }
    return fd;
}

/* Something sent, and what has to come back. */
static void exchange(int fd, unsigned *seed) {
    if (mode == GET) {
        char request[1000];
        int length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: here\r\n\r\n", path);
        put(fd, request, (size_t)length);
        get_head(fd, "HTTP/1.1 200");
        char *got = malloc(body_length);
        get(fd, got, body_length);
        errno = 0;
        must(memcmp(got, body, body_length) == 0, "the body of an answer");
        free(got);
        return;
    }
    char sent[MOST], got[MOST];
    size_t length = 1 + (size_t)rand_r(seed) % MOST;
    for (size_t index = 0; index < length; index++)
        sent[index] = (char)(*seed + index * 7);
    put(fd, sent, length);
    get(fd, got, length);
    errno = 0;
    must(memcmp(sent, got, length) == 0, "a message that came back");
}

static void *client(void *argument) {
    unsigned seed = (unsigned)(long)argument;
    for (long connection = 0; connection < connections; connection++) {
        int fd = open_connection();
        for (long number = 0; number < exchanges; number++)
            exchange(fd, &seed);
        close(fd);
    }
    return NULL;
}

static void read_body(const char *name) {
    FILE *file = fopen(name, "r");
    must(file != NULL, name);
    fseek(file, 0, SEEK_END);
    body_length = (size_t)ftell(file);
    rewind(file);
    body = malloc(body_length);
    must(fread(body, 1, body_length, file) == body_length, name);
    fclose(file);
}

int main(int count, char **words) {
    if (count < 7)
        return 2;
    mode = strcmp(words[1], "socks5") == 0 ? SOCKS5 : strcmp(words[1], "connect") == 0 ? CONNECT : GET;
    if (mode == GET && count < 9)
        return 2;
    server.sin_family = AF_INET;
    must(inet_pton(AF_INET, words[2], &server.sin_addr) == 1, words[2]);
    server.sin_port = htons((unsigned short)atoi(words[3]));
    long clients = atol(words[4]);
    connections = atol(words[5]);
    exchanges = atol(words[6]);
    if (mode == GET) {
        path = words[7];
        read_body(words[8]);
    } else {
        start_upstream();
    }
    pthread_t *threads = calloc((size_t)clients, sizeof *threads);
    for (long number = 0; number < clients; number++)
        must(pthread_create(&threads[number], NULL, client, (void *)number) == 0, "pthread_create");
    for (long number = 0; number < clients; number++)
        must(pthread_join(threads[number], NULL) == 0, "pthread_join");
    printf("%ld exchanges over %ld connections\n", clients * connections * exchanges, clients * connections);
    return 0;
}
