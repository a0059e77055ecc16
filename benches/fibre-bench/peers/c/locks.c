/* Locks that nobody else wants, and threads that wake each other in turn. */

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "peer.h"

/* Measures pairs of a lock's calls. */
#define PAIRS(lock, unlock)                                   \
    struct stopwatch watch = begin();                         \
    for (long index = 0; index < operations; index++) {       \
        lock;                                                 \
        unlock;                                               \
    }                                                         \
    struct sample sample = end(&watch, operations)

struct sample round_mutex(const struct asked *asked, long operations) {
    (void)asked;
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    PAIRS(pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex));
    return sample;
}

struct sample round_recursive(const struct asked *asked, long operations) {
    (void)asked;
    pthread_mutex_t mutex;
    pthread_mutexattr_t attributes;
    must(pthread_mutexattr_init(&attributes), "pthread_mutexattr_init");
    must(pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE), "pthread_mutexattr_settype");
    must(pthread_mutex_init(&mutex, &attributes), "pthread_mutex_init");
    PAIRS(pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex));
    must(pthread_mutex_destroy(&mutex), "pthread_mutex_destroy");
    return sample;
}

struct sample round_rwlock(const struct asked *asked, long operations) {
    (void)asked;
    static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    PAIRS(pthread_rwlock_rdlock(&lock), pthread_rwlock_unlock(&lock));
    return sample;
}

struct sample round_spin(const struct asked *asked, long operations) {
    (void)asked;
    pthread_spinlock_t lock;
    must(pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE), "pthread_spin_init");
    PAIRS(pthread_spin_lock(&lock), pthread_spin_unlock(&lock));
    must(pthread_spin_destroy(&lock), "pthread_spin_destroy");
    return sample;
}

/* Two semaphores, over which a permit goes there and back. */
struct semaphores {
    sem_t there, back;
    long rounds;
};

static void *sends_back(void *argument) {
    struct semaphores *pair = argument;
    for (long round = 0; round < pair->rounds; round++) {
        sem_wait(&pair->there);
        sem_post(&pair->back);
    }
    return NULL;
}

struct sample round_semaphore(const struct asked *asked, long operations) {
    (void)asked;
    struct semaphores pair = {.rounds = operations + 1};
    sem_init(&pair.there, 0, 0);
    sem_init(&pair.back, 0, 0);
    pthread_t partner;
    must(pthread_create(&partner, NULL, sends_back, &pair), "pthread_create");
    sem_post(&pair.there);
    sem_wait(&pair.back); /* the partner has started */
    struct stopwatch watch = begin();
    for (long index = 0; index < operations; index++) {
        sem_post(&pair.there);
        sem_wait(&pair.back);
    }
    struct sample sample = end(&watch, operations);
    must(pthread_join(partner, NULL), "pthread_join");
    sem_destroy(&pair.there);
    sem_destroy(&pair.back);
    return sample;
}

/* A flag under a mutex, on which two players wait for their turn. */
struct turns {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int turn;
    long rounds;
};

static void take(struct turns *turns, int player) {
    pthread_mutex_lock(&turns->mutex);
    while (turns->turn != player)
        pthread_cond_wait(&turns->changed, &turns->mutex);
    turns->turn = !player;
    pthread_cond_signal(&turns->changed);
    pthread_mutex_unlock(&turns->mutex);
}

static void *other_player(void *argument) {
    struct turns *turns = argument;
    for (long round = 0; round < turns->rounds; round++)
        take(turns, 1);
    return NULL;
}

struct sample round_condvar(const struct asked *asked, long operations) {
    (void)asked;
    struct turns turns = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, operations + 2};
    pthread_t partner;
    must(pthread_create(&partner, NULL, other_player, &turns), "pthread_create");
    take(&turns, 0); /* the partner has started after the second turn */
    take(&turns, 0);
    struct stopwatch watch = begin();
    for (long index = 0; index < operations; index++)
        take(&turns, 0);
    struct sample sample = end(&watch, operations);
    must(pthread_join(partner, NULL), "pthread_join");
    return sample;
}

/* Threads that meet again and again. */
struct meeting {
    pthread_barrier_t barrier;
    long rounds;
};

static void *meets(void *argument) {
    struct meeting *meeting = argument;
    for (long round = 0; round < meeting->rounds; round++)
        pthread_barrier_wait(&meeting->barrier);
    return NULL;
}

/* An operation is one wait of one thread. */
struct sample round_barrier(const struct asked *asked, long operations) {
    long rounds = (operations + asked->fibres - 1) / asked->fibres;
    struct meeting meeting = {.rounds = rounds + 1};
    must(pthread_barrier_init(&meeting.barrier, NULL, (unsigned)asked->fibres), "pthread_barrier_init");
    pthread_t *threads = calloc((size_t)asked->fibres, sizeof *threads);
    for (long index = 1; index < asked->fibres; index++)
        must(pthread_create(&threads[index], NULL, meets, &meeting), "pthread_create");
    pthread_barrier_wait(&meeting.barrier); /* all have started */
    struct stopwatch watch = begin();
    for (long round = 0; round < rounds; round++)
        pthread_barrier_wait(&meeting.barrier);
    struct sample sample = end(&watch, rounds * asked->fibres);
    for (long index = 1; index < asked->fibres; index++)
        must(pthread_join(threads[index], NULL), "pthread_join");
    free(threads);
    must(pthread_barrier_destroy(&meeting.barrier), "pthread_barrier_destroy");
    return sample;
}
