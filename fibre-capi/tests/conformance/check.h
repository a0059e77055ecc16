/*
 * What every conformance program uses: checks, a watchdog, threads that must start, and clocks.
 *
 * A program shows one clause. The first comment of its file names the functions and says the clause;
 * `main` mostly is `return on_both(test);`, which runs the test on the initial thread and then on a
 * created one, since an implementation may treat these differently. Programs end with 0 if the clause
 * holds; else the check that failed is printed and the program ends with 1.
 */
#ifndef CHECK_H
#define CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#ifndef __cplusplus
#include <stdatomic.h>
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How long a program may take, in seconds. */
#define WATCHDOG 30

/* What runs the test, for messages. */
static const char *role = "initial thread";

/* Ends the program with these words. Calls no cancellation point, at which it could end otherwise. */
static inline void end_with(const char *words)
{
    if (syscall(SYS_write, 2, words, strlen(words)) < 0)
        _exit(2);
    _exit(1);
}

/* Ends the program with a word on what is wrong. */
static inline void failed(const char *file, int line, const char *text, long is, long want)
{
    char words[1000];
    if (is != want)
        snprintf(words, sizeof words, "%s:%d: (%s) %s: is %ld, not %ld\n", file, line, role, text, is, want);
    else
        snprintf(words, sizeof words, "%s:%d: (%s) %s\n", file, line, role, text);
    end_with(words);
}

/* The expression must be true. */
#define CHECK(expr) ((expr) ? (void)0 : failed(__FILE__, __LINE__, #expr, 0, 0))

/* The expression must have this value. */
#define IS(expr, want)                                          \
    do {                                                        \
        long is_ = (long)(expr), want_ = (long)(want);          \
        if (is_ != want_)                                       \
            failed(__FILE__, __LINE__, #expr, is_, want_);      \
    } while (0)

/* The call must return 0. */
#define OK(call) IS(call, 0)

/* The call must return -1 and set errno to this. */
#define FAILS(call, error)                                      \
    do {                                                        \
        errno = 0;                                              \
        IS(call, -1);                                           \
        IS(errno, error);                                       \
    } while (0)

/* Waits by yielding until another thread has made the expression true. */
#define AWAIT(expr)                                             \
    do {                                                        \
        while (!(expr))                                         \
            sched_yield();                                      \
    } while (0)

/* Says that the time is up. */
static void time_is_up(int signal)
{
    (void)signal;
    end_with("the watchdog: the program hangs\n");
}

/* Starts the watchdog. */
static inline void watch(void)
{
    signal(SIGALRM, time_is_up);
    alarm(WATCHDOG);
}

/* A thread that must start. */
static inline pthread_t start(void *(*routine)(void *), void *argument)
{
    pthread_t thread;
    OK(pthread_create(&thread, NULL, routine, argument));
    return thread;
}

/* What a thread that must be joinable returns. */
static inline void *finish(pthread_t thread)
{
    void *value = NULL;
    OK(pthread_join(thread, &value));
    return value;
}

/* Gives others the time to block: no test is wrong without, but some look at less. */
static inline void let_block(void)
{
    struct timespec pause = {0, 3000000};
    for (int turn = 0; turn < 20; turn++)
        sched_yield();
    nanosleep(&pause, NULL);
}

/* Whether the kernel's thread of this number waits for something: not for a CPU, and is not ended. */
static inline int is_asleep(const char *number)
{
    char path[300], line[300] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/stat", number);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    const char *name_end = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    fclose(file);
    return name_end && name_end[1] == ' ' && name_end[2] == 'S';
}

/* Waits until nobody else runs or could: whoever was about to block has. For programs without threads
 * that compute. */
static inline void until_all_block(void)
{
    for (int busy = 1; busy;) {
        let_block();
        DIR *threads = opendir("/proc/self/task");
        CHECK(threads);
        busy = 0;
        for (struct dirent *one; (one = readdir(threads));)
            if (one->d_name[0] != '.' && atol(one->d_name) != syscall(SYS_gettid))
                busy += !is_asleep(one->d_name);
        closedir(threads);
    }
}

/* The moment this many milliseconds from now, which may be negative. */
static inline struct timespec in_ms(clockid_t clock, long ms)
{
    struct timespec at;
    clock_gettime(clock, &at);
    long long ns = at.tv_sec * 1000000000LL + at.tv_nsec + ms * 1000000LL;
    at.tv_sec = ns / 1000000000;
    at.tv_nsec = ns % 1000000000;
    return at;
}

/* Whether this moment has come. */
static inline int is_past(clockid_t clock, struct timespec at)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec > at.tv_sec || (now.tv_sec == at.tv_sec && now.tv_nsec >= at.tv_nsec);
}

/* A moment whose nanoseconds are out of range. */
static inline struct timespec bad_time(clockid_t clock)
{
    struct timespec at = in_ms(clock, 1000);
    at.tv_nsec = 1000000000;
    return at;
}

/* The test that `on_both` runs. */
static void (*test_to_run)(void);

/* Runs it in a created thread. */
static inline void *run_test(void *unused)
{
    test_to_run();
    return unused;
}

/* Runs the test on the initial thread and on a created one; the program's exit code. */
static inline int on_both(void (*test)(void))
{
    watch();
    test();
    role = "created thread";
    test_to_run = test;
    finish(start(run_test, NULL));
    return 0;
}

#endif
