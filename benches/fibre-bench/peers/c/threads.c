/* Threads: making and joining them, yields, and what they have of their own. */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>

#include "peer.h"

static void *nothing(void *argument) {
    return argument;
}

/* Makes and joins threads that do nothing, a batch at a time. */
struct sample round_spawn(const struct asked *asked, long operations) {
    long rounds = (operations + asked->batch - 1) / asked->batch;
    pthread_t *threads = calloc((size_t)asked->batch, sizeof *threads);
    struct stopwatch watch = begin();
    for (long round = 0; round < rounds; round++) {
        for (long index = 0; index < asked->batch; index++)
            must(pthread_create(&threads[index], NULL, nothing, NULL), "pthread_create");
        for (long index = 0; index < asked->batch; index++)
            must(pthread_join(threads[index], NULL), "pthread_join");
    }
    struct sample sample = end(&watch, rounds * asked->batch);
    free(threads);
    return sample;
}

/* Threads that have all started and wait at a gate before the clock starts. */
struct yielders {
    sem_t started, gate;
    long each;
};

static void *yielder(void *argument) {
    struct yielders *yielders = argument;
    sem_post(&yielders->started);
    sem_wait(&yielders->gate);
    for (long index = 0; index < yielders->each; index++)
        sched_yield();
    return NULL;
}

struct sample round_yield(const struct asked *asked, long operations) {
    struct yielders yielders = {.each = (operations + asked->fibres - 1) / asked->fibres};
    sem_init(&yielders.started, 0, 0);
    sem_init(&yielders.gate, 0, 0);
    pthread_t *threads = calloc((size_t)asked->fibres, sizeof *threads);
    for (long index = 0; index < asked->fibres; index++)
        must(pthread_create(&threads[index], NULL, yielder, &yielders), "pthread_create");
    for (long index = 0; index < asked->fibres; index++)
        sem_wait(&yielders.started);
    struct stopwatch watch = begin();
    for (long index = 0; index < asked->fibres; index++)
        sem_post(&yielders.gate);
    for (long index = 0; index < asked->fibres; index++)
        must(pthread_join(threads[index], NULL), "pthread_join");
    struct sample sample = end(&watch, asked->fibres * yielders.each);
    free(threads);
    sem_destroy(&yielders.started);
    sem_destroy(&yielders.gate);
    return sample;
}

/* Sets a thread-specific value and reads it. */
struct sample round_key(const struct asked *asked, long operations) {
    (void)asked;
    pthread_key_t key;
    must(pthread_key_create(&key, NULL), "pthread_key_create");
    struct stopwatch watch = begin();
    for (long index = 0; index < operations; index++) {
        pthread_setspecific(key, &operations);
        if (pthread_getspecific(key) != &operations)
            must(EINVAL, "pthread_getspecific");
    }
    struct sample sample = end(&watch, operations);
    must(pthread_key_delete(key), "pthread_key_delete");
    return sample;
}

/* Asks who is running. */
struct sample round_self(const struct asked *asked, long operations) {
    (void)asked;
    volatile pthread_t self = pthread_self(); /* or the compiler would leave out the loop */
    struct stopwatch watch = begin();
    for (long index = 0; index < operations; index++)
        self = pthread_self();
    must(pthread_equal(self, pthread_self()) ? 0 : EINVAL, "pthread_self");
    return end(&watch, operations);
}

static void initialise(void) {
}

/* Asks for what has long been initialised. */
struct sample round_once(const struct asked *asked, long operations) {
    (void)asked;
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct stopwatch watch = begin();
    for (long index = 0; index < operations; index++)
        pthread_once(&once, initialise);
    return end(&watch, operations);
}
