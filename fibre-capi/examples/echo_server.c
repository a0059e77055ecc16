/* The echo server of the textbooks: a thread for each connection, plain pthread source.
 *
 *     cc -O2 echo_server.c -o echo_server -pthread                              threads of the system
 *     cc -O2 -include fibre_pthread.h echo_server.c -o echo_server -lfibre-rt      fibres
 *
 *     echo_server [PORT]
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* Sends back whatever one client sends, until it is done. */
static void *serve(void *argument) {
    int client = (int)(intptr_t)argument;
    char bytes[1024];
    ssize_t got;
    while ((got = read(client, bytes, sizeof bytes)) > 0) {
        for (ssize_t sent = 0; sent < got;) {
            ssize_t written = write(client, bytes + sent, (size_t)(got - sent));
            if (written < 0)
                goto gone;
            sent += written;
        }
    }
gone:
    close(client);
    return NULL;
}

static void die(const char *what) {
    perror(what);
    exit(1);
}

/* A socket that listens on loopback. */
static int listen_on(uint16_t port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (listener < 0)
        die("socket");
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (bind(listener, (struct sockaddr *)&address, length) != 0 || listen(listener, 4096) != 0)
        die("listen");
    getsockname(listener, (struct sockaddr *)&address, &length);
    printf("listening on 127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

int main(int count, char **words) {
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);

    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, 64 << 10);

    int listener = listen_on((uint16_t)(count > 1 ? atoi(words[1]) : 0));
    for (;;) {
        int client = accept(listener, NULL, NULL);
        if (client < 0) {
            if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO)
                continue;
            if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM)
                die("accept");
            usleep(10000); /* until somebody is done */
            continue;
        }
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        pthread_t thread;
        int error = pthread_create(&thread, &attributes, serve, (void *)(intptr_t)client);
        if (error != 0) {
            fprintf(stderr, "pthread_create: %s\n", strerror(error));
            close(client);
        }
    }
}
