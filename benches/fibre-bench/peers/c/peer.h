/* What the workloads are asked for, and what they answer. The whole program is plain pthread source: it is compiled once
 * for the system's pthreads and once, by `-include fibre_pthread.h`, for fibres. */

#pragma once

/* What a workload can be told; it reads what it knows. */
struct asked {
    double seconds;  /* CPU time of the last round */
    long operations; /* operations of the first round */
    long fibres;     /* threads that take turns, or meet */
    long batch;      /* threads that are made before the first is joined */
};

/* What one repetition measured: times of one operation, in nanoseconds. */
struct sample {
    long operations;
    double cpu_ns;
    double wall_ns;
};

/* A measurement that has begun. */
struct stopwatch {
    double cpu, wall;
};

struct stopwatch begin(void);
struct sample end(const struct stopwatch *watch, long operations);

/* One round of at least so many operations. */
typedef struct sample round_of(const struct asked *asked, long operations);

/* Ends the program with a word unless what a pthread function returned, or what was expected, is right. */
void must(int error, const char *what);

round_of round_yield, round_spawn, round_semaphore, round_condvar, round_mutex, round_recursive, round_rwlock, round_spin,
    round_barrier, round_key, round_self, round_once;
