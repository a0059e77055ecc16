/* Bulk streams, as iperf3 moves them: a thread for each, blocks of 128 KiB, blocking calls.
 *
 *     streams take PORT STREAMS
 *     streams give PORT STREAMS SECONDS
 *
 * `take` reads from that many connections to 127.0.0.1:PORT until all have ended; `give` makes them and writes for so many
 * seconds. Each prints what it has moved in GB and what CPU time it has taken, and ends with 1 if a call fails. With SHARED in
 * the environment all threads have one buffer, which then stays in a cache. */

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 128 * 1024 };

static atomic_llong moved, calls;
static atomic_int over;

static void must(int right, const char *what) {
    if (!right) {
        fprintf(stderr, "streams: %s: %s\n", what, strerror(errno));
        _exit(1);
    }
}

/* The buffer of a thread. */
static char *buffer(void) {
    static char shared[BLOCK];
    char *block = getenv("SHARED") != NULL ? shared : calloc(1, BLOCK);
    must(block != NULL, "calloc");
    return block;
}

/* Reads blocks, each until it is full, as long as there are any. */
static void *taker(void *argument) {
    int fd = (int)(long)argument;
    char *block = buffer();
    for (ssize_t got = 1; got > 0;) {
        size_t full = 0;
        while (full < BLOCK && (got = read(fd, block + full, BLOCK - full)) > 0) {
            full += (size_t)got;
            calls++;
        }
        must(got >= 0, "read");
        moved += (long long)full;
    }
    close(fd);
    return NULL;
}

/* Writes blocks until time is over. */
static void *giver(void *argument) {
    int fd = (int)(long)argument;
    char *block = buffer();
    while (!over) {
        size_t gone = 0;
        while (gone < BLOCK) {
            ssize_t written = write(fd, block + gone, BLOCK - gone);
            must(written > 0, "write");
            gone += (size_t)written;
            calls++;
        }
        moved += BLOCK;
    }
    close(fd);
    return NULL;
}

int main(int count, char **words) {
    int takes = count == 4 && strcmp(words[1], "take") == 0;
    if (!takes && (count != 5 || strcmp(words[1], "give") != 0))
        return 2;
    int streams = atoi(words[3]);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(words[2]))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = -1;
    if (takes) {
        int yes = 1;
        listener = socket(AF_INET, SOCK_STREAM, 0);
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        must(bind(listener, (struct sockaddr *)&address, sizeof address) == 0, "bind");
        must(listen(listener, streams) == 0, "listen");
    }
    pthread_t *threads = calloc((size_t)streams, sizeof *threads);
    int *fds = calloc((size_t)streams, sizeof *fds);
    for (int number = 0; number < streams; number++) {
        if (takes) {
            fds[number] = accept(listener, NULL, NULL);
            must(fds[number] >= 0, "accept");
        } else {
            fds[number] = socket(AF_INET, SOCK_STREAM, 0);
            must(connect(fds[number], (struct sockaddr *)&address, sizeof address) == 0, "connect");
        }
    }
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int number = 0; number < streams; number++)
        must(pthread_create(&threads[number], NULL, takes ? taker : giver, (void *)(long)fds[number]) == 0,
             "pthread_create");
    if (!takes) {
        sleep((unsigned)atoi(words[4]));
        over = 1;
    }
    for (int number = 0; number < streams; number++)
        must(pthread_join(threads[number], NULL) == 0, "pthread_join");
    clock_gettime(CLOCK_MONOTONIC, &end);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
    double cpu_user = (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6;
    double cpu_system = (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6;
    double gb = (double)moved / 1e9;
    printf("%s %.2f GB, %.2f s, %.1f Gbit/s, CPU %.2f + %.2f s, %.3f s/GB, %lld calls, %.0f bytes each, switches %ld + %ld\n",
           words[1], gb, seconds, gb * 8 / seconds, cpu_user, cpu_system, (cpu_user + cpu_system) / gb, (long long)calls,
           (double)moved / (double)calls, usage.ru_nvcsw, usage.ru_nivcsw);
    return 0;
}
