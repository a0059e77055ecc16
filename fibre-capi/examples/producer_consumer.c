/* Producers and consumers of the textbooks: a bounded buffer under a mutex, with two condition variables. Plain pthread
 * source.
 *
 *     cc -O2 producer_consumer.c -o producer_consumer -pthread                              threads of the system
 *     cc -O2 -include fibre_pthread.h producer_consumer.c -o producer_consumer -lfibre-rt      fibres
 *
 *     producer_consumer [PRODUCERS [CONSUMERS [ITEMS]]]
 *
 * Each producer makes the numbers from 1 to ITEMS. That each has arrived as often as it was made is told by their count
 * and by two sums. */

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many numbers the buffer holds. */
#define ROOM 16

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t not_empty, not_full;
    uint64_t numbers[ROOM];
    size_t first, count;
} buffer = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0, 0};

/* What a consumer has seen. */
struct seen {
    uint64_t count, sum, squares;
};

static long producers = 4, consumers = 3, items = 100000;

static void put(uint64_t number) {
    pthread_mutex_lock(&buffer.mutex);
    while (buffer.count == ROOM)
        pthread_cond_wait(&buffer.not_full, &buffer.mutex);
    buffer.numbers[(buffer.first + buffer.count++) % ROOM] = number;
    pthread_cond_signal(&buffer.not_empty);
    pthread_mutex_unlock(&buffer.mutex);
}

static uint64_t take(void) {
    pthread_mutex_lock(&buffer.mutex);
    while (buffer.count == 0)
        pthread_cond_wait(&buffer.not_empty, &buffer.mutex);
    uint64_t number = buffer.numbers[buffer.first];
    buffer.first = (buffer.first + 1) % ROOM;
    buffer.count--;
    pthread_cond_signal(&buffer.not_full);
    pthread_mutex_unlock(&buffer.mutex);
    return number;
}

static void *produce(void *unused) {
    (void)unused;
    for (long number = 1; number <= items; number++)
        put((uint64_t)number);
    return NULL;
}

/* Takes numbers until there is a 0. */
static void *consume(void *argument) {
    struct seen *seen = argument;
    for (uint64_t number; (number = take()) != 0;) {
        seen->count++;
        seen->sum += number;
        seen->squares += number * number;
    }
    return seen;
}

static void must(int error, const char *what) {
    if (error != 0) {
        fprintf(stderr, "%s: %s\n", what, strerror(error));
        exit(1);
    }
}

int main(int count, char **words) {
    long *settings[] = {&producers, &consumers, &items};
    for (int index = 1; index < count && index <= 3; index++)
        if ((*settings[index - 1] = atol(words[index])) < 1)
            return 2;
    pthread_t *threads = calloc((size_t)(producers + consumers), sizeof *threads);
    struct seen *seen = calloc((size_t)consumers, sizeof *seen), all = {0, 0, 0};
    for (long index = 0; index < consumers; index++)
        must(pthread_create(&threads[producers + index], NULL, consume, &seen[index]), "pthread_create");
    for (long index = 0; index < producers; index++)
        must(pthread_create(&threads[index], NULL, produce, NULL), "pthread_create");
    for (long index = 0; index < producers; index++)
        must(pthread_join(threads[index], NULL), "pthread_join");
    for (long index = 0; index < consumers; index++)
        put(0);
    for (long index = 0; index < consumers; index++) {
        void *result;
        must(pthread_join(threads[producers + index], &result), "pthread_join");
        if (result != &seen[index]) {
            fprintf(stderr, "a consumer returned something else\n");
            return 1;
        }
        all.count += seen[index].count;
        all.sum += seen[index].sum;
        all.squares += seen[index].squares;
    }
    struct seen made = {0, 0, 0};
    for (uint64_t number = 1; number <= (uint64_t)items; number++) {
        made.sum += (uint64_t)producers * number;
        made.squares += (uint64_t)producers * number * number;
    }
    made.count = (uint64_t)(producers * items);
    printf("%llu numbers, sum %llu\n", (unsigned long long)all.count, (unsigned long long)all.sum);
    if (memcmp(&made, &all, sizeof all) != 0) {
        fprintf(stderr, "not what was made\n");
        return 1;
    }
    return 0;
}
