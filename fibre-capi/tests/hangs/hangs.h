/*
 * What programs that hang share: each names the guilty thread and its place, and what the three tools
 * are to say of it.
 *
 * The program starts itself once more, with the monitor and the report of deadlocks switched on, and
 * has that process hang. It waits until the tools have said what they are to say, then asks for a dump,
 * and looks whether all the words are there. Everything that was said is printed if they are not, or if
 * HANGS_SHOW is set.
 */
#ifndef HANGS_H
#define HANGS_H

#include "../conformance/check.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* How long the tools may take, in seconds: on a busy machine they let others go first. */
#define LONGEST 110

/* The most words of a kind, with the null at their end. */
#define WORDS 6

/* Bytes of what is said. */
#define SAID (1 << 18)

/* What is said of a program that hangs. */
struct told {
    /* What the dump says; the paragraph of the guilty thread has the first ones up to a null. */
    const char *dump[WORDS];
    /* What the monitor's line says; empty: there is none. */
    const char *monitor[WORDS];
    /* What the report of the deadlock says; empty: there is none. */
    const char *deadlock[WORDS];
};

/* What it says when its threads have been started. */
#define BEGUN "all threads have been started\n"

/* All that the process has said so far. */
static char said[SAID];

/* Names the threads that are made with these attributes. In brackets, so that a mutant can be a macro. */
extern int (fibre_attr_setname)(pthread_attr_t *attributes, const char *name);

/* Starts a thread with a name. One that is given by pthread_setname_np is told of threads that wait;
 * of those that run, the one that they were made with. */
static inline pthread_t start_named(const char *name, void *(*routine)(void *), void *argument)
{
    pthread_t thread;
    pthread_attr_t attributes;
    OK(pthread_attr_init(&attributes));
    OK(fibre_attr_setname(&attributes, name));
    OK(pthread_create(&thread, &attributes, routine, argument));
    OK(pthread_attr_destroy(&attributes));
    return thread;
}

/* Waits for connections for ever. */
static inline void *accepts(void *unused)
{
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    CHECK(listener >= 0);
    OK(bind(listener, (struct sockaddr *)&here, sizeof here));
    OK(listen(listener, 1));
    accept(listener, NULL, NULL);
    return unused;
}

/* Has a thread wait for connections, so that a descriptor could end some wait. */
static inline void listen_too(void)
{
    start_named("listener", accepts, NULL);
}

/* Whether a piece of what was said has all of these words; if not, one that it has not. */
static inline int has_all(const char *piece, const char *const *words, const char **lacks)
{
    for (; *words; words++)
        if (!strstr(piece, *words)) {
            *lacks = *words;
            return 0;
        }
    return 1;
}

/* Whether a line, or a paragraph, has all of these words: what `end` ends is a piece. */
static inline int a_piece_has(const char *end, const char *const *words)
{
    static char copy[SAID];
    const char *lacks;
    strcpy(copy, said);
    for (char *piece = copy, *next; piece; piece = next) {
        next = strstr(piece, end);
        if (next) {
            *next = 0;
            next += strlen(end);
        }
        if (has_all(piece, words, &lacks))
            return 1;
    }
    return 0;
}

/* Reads on until this is true. */
#define READ_UNTIL(from, what)                                  \
    do {                                                        \
        while (!(what))                                         \
            read_more(from);                                    \
    } while (0)

/* Reads what comes next. */
static inline void read_more(int from)
{
    size_t length = strlen(said);
    ssize_t count = read(from, said + length, SAID - 1 - length);
    if (count <= 0) {
        fputs(said, stderr);
        end_with("the process has ended, or says too much\n");
    }
}

/* Says what the process has said, when the time is up. */
static inline void show_and_end(int signal)
{
    (void)signal;
    if (write(STDERR_FILENO, said, strlen(said)) < 0)
        _exit(2);
    end_with("the time is up: this is all that was said\n");
}

/* Becomes the process that hangs. */
static inline void become(const char *program, int output)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGQUIT, SIG_DFL);
    dup2(output, STDERR_FILENO);
    setenv("FIBRE_MONITOR", "10ms", 1);
    setenv("FIBRE_DEADLOCK", "report", 1);
    setenv("FIBRE_INITIALISERS", "0", 1);
    execl("/proc/self/exe", program, "hang", (char *)NULL);
    _exit(2);
}

/* Whether the dump is as it is to be, asked for until it is: the threads may just have begun. */
static inline void check_dump(pid_t child, int from, const struct told *told)
{
    const char *lacks;
    const char *const *besides = told->dump;
    while (*besides)
        besides++;
    for (int whole = 0; !whole;) {
        size_t before = strlen(said);
        OK(kill(child, SIGQUIT));
        READ_UNTIL(from, strstr(said + before, "end of the dump of process"));
        whole = a_piece_has("\n\n", told->dump) && has_all(said, besides + 1, &lacks);
    }
}

/* Hangs, in the process that is to; else starts that one, and checks what is said of it. */
static inline int hangs(int argc, char **argv, void (*hang)(void), const struct told *told)
{
    int ends[2], status;
    if (argc > 1) {
        static pthread_mutex_t forever = PTHREAD_MUTEX_INITIALIZER;
        hang();
        /* From here on SIGQUIT asks for a dump, and does not end the process. */
        fputs(BEGUN, stderr);
        pthread_mutex_lock(&forever);
        pthread_mutex_lock(&forever);
    }
    signal(SIGALRM, show_and_end);
    alarm(LONGEST);
    OK(pipe(ends));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        become(argv[0], ends[1]);
    OK(close(ends[1]));
    READ_UNTIL(ends[0], strstr(said, BEGUN));
    if (told->monitor[0])
        READ_UNTIL(ends[0], a_piece_has("\n", told->monitor));
    if (told->deadlock[0]) {
        READ_UNTIL(ends[0], strstr(said, "end of the report of process"));
        const char *lacks = "";
        if (!has_all(said, told->deadlock, &lacks)) {
            fprintf(stderr, "%s\nis lacking in:\n%s", lacks, said);
            return 1;
        }
    }
    check_dump(child, ends[0], told);
    CHECK(told->deadlock[0] || !strstr(said, "fibre: deadlock: "));
    IS(waitpid(child, &status, WNOHANG), 0);
    OK(kill(child, SIGKILL));
    IS(waitpid(child, &status, 0), child);
    if (getenv("HANGS_SHOW"))
        fputs(said, stderr);
    return 0;
}

#endif
