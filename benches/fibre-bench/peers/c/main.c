/* A peer in C: speaks the peer protocol (README.md), and measures what the pthread functions cost. */

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "peer.h"

/* How many times larger than the one before a round may be. */
#define GROWTH 8.0
/* How many times the length that was asked for ends the rounds in any case. */
#define FAR_TOO_LONG 10.0

/* A workload, and with how many operations its rounds begin. */
static const struct workload {
    const char *name;
    round_of *round;
    long fewest;
} workloads[] = {
    {"yield", round_yield, 1000},     {"spawn", round_spawn, 100},         {"semaphore", round_semaphore, 1000},
    {"condvar", round_condvar, 1000}, {"mutex", round_mutex, 10000},       {"recursive", round_recursive, 10000},
    {"rwlock", round_rwlock, 10000},  {"spin", round_spin, 10000},         {"barrier", round_barrier, 1000},
    {"key", round_key, 10000},        {"self", round_self, 10000},         {"once", round_once, 10000},
};

#define COUNT (sizeof workloads / sizeof *workloads)

void must(int error, const char *what) {
    if (error != 0) {
        fprintf(stderr, "%s: %s\n", what, strerror(error));
        exit(1);
    }
}

static double seconds_of(clockid_t clock) {
    struct timespec now;
    must(clock_gettime(clock, &now) == 0 ? 0 : EINVAL, "clock_gettime");
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct stopwatch begin(void) {
    struct stopwatch watch = {seconds_of(CLOCK_PROCESS_CPUTIME_ID), seconds_of(CLOCK_MONOTONIC)};
    return watch;
}

struct sample end(const struct stopwatch *watch, long operations) {
    double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - watch->cpu;
    double wall = seconds_of(CLOCK_MONOTONIC) - watch->wall;
    struct sample sample = {operations, cpu / (double)operations * 1e9, wall / (double)operations * 1e9};
    return sample;
}

/* A workload that was asked for, and its answer. */
struct job {
    const struct workload *workload;
    struct asked asked;
    struct sample sample;
};

/* Repeats rounds of more and more operations until one takes as long as asked. A round is judged by the fastest so far: a
 * disturbance can make a round of few operations long, but not one of many short. Runs in a thread, so that what main
 * may be (a kernel thread, where all others are fibres) does not matter. */
static void *calibrated(void *argument) {
    struct job *job = argument;
    long operations = job->asked.operations > 0 ? job->asked.operations : job->workload->fewest;
    double fastest = INFINITY;
    for (;;) {
        struct sample sample = job->sample = job->workload->round(&job->asked, operations);
        fastest = fmin(fastest, sample.cpu_ns);
        double length = fastest * (double)sample.operations / 1e9;
        double took = fmax(sample.cpu_ns, sample.wall_ns) * (double)sample.operations / 1e9;
        if (length >= job->asked.seconds || took >= FAR_TOO_LONG * job->asked.seconds)
            return NULL;
        operations = (long)ceil((double)operations * fmin(job->asked.seconds * 1.1 / length, GROWTH));
    }
}

/* Reads `name=value`; 0 if nobody knows it. */
static int read_word(const char *word, struct asked *asked) {
    const char *equals = strchr(word, '=');
    if (equals == NULL)
        return 0;
    size_t length = (size_t)(equals - word);
    char *rest;
    double value = strtod(equals + 1, &rest);
    if (rest == equals + 1 || *rest != 0 || value < 0)
        return 0;
    const struct {
        const char *name;
        long *place;
    } counts[] = {{"operations", &asked->operations}, {"fibres", &asked->fibres}, {"batch", &asked->batch}};
    for (size_t index = 0; index < sizeof counts / sizeof *counts; index++)
        if (strlen(counts[index].name) == length && strncmp(word, counts[index].name, length) == 0) {
            *counts[index].place = (long)value;
            return value >= 1;
        }
    if (strncmp(word, "seconds=", 8) == 0) {
        asked->seconds = value;
        return 1;
    }
    /* The one who starts the program pins it; fibres get as many processors. */
    return strncmp(word, "processors=", 11) == 0 && value >= 1 && setenv("FIBRE_PROCESSORS", equals + 1, 1) == 0;
}

int main(int count, char **words) {
    if (count == 1) {
        for (size_t index = 0; index < COUNT; index++)
            puts(workloads[index].name);
        return 0;
    }
    struct job job = {.asked = {.seconds = 0.1, .fibres = 2, .batch = 1}};
    for (size_t index = 0; index < COUNT; index++)
        if (strcmp(words[1], workloads[index].name) == 0)
            job.workload = &workloads[index];
    if (job.workload == NULL) {
        fprintf(stderr, "no workload `%s`\n", words[1]);
        return 2;
    }
    for (int index = 2; index < count; index++)
        if (!read_word(words[index], &job.asked)) {
            fprintf(stderr, "`%s` is not understood\n", words[index]);
            return 2;
        }
    pthread_t thread;
    must(pthread_create(&thread, NULL, calibrated, &job), "pthread_create");
    must(pthread_join(thread, NULL), "pthread_join");
    printf("{\"operations\":%ld,\"cpu_ns\":%.12g,\"wall_ns\":%.12g}\n", job.sample.operations, job.sample.cpu_ns,
           job.sample.wall_ns);
    return 0;
}
