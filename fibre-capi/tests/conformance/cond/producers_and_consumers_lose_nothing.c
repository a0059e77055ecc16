/* pthread_cond_wait, pthread_cond_signal: what producers put into a bounded buffer, consumers take, each once. */
#include "../check.h"

#define EACH 1000
#define SLOTS 4

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static int slots[SLOTS], first, filled;

static void *produce(void *unused)
{
    for (int value = 1; value <= EACH; value++) {
        OK(pthread_mutex_lock(&mutex));
        while (filled == SLOTS)
            OK(pthread_cond_wait(&not_full, &mutex));
        slots[(first + filled++) % SLOTS] = value;
        OK(pthread_cond_signal(&not_empty));
        OK(pthread_mutex_unlock(&mutex));
    }
    return unused;
}

static void *consume(void *unused)
{
    intptr_t sum = 0;
    (void)unused;
    for (int taken = 0; taken < EACH; taken++) {
        OK(pthread_mutex_lock(&mutex));
        while (filled == 0)
            OK(pthread_cond_wait(&not_empty, &mutex));
        sum += slots[first];
        first = (first + 1) % SLOTS;
        filled--;
        OK(pthread_cond_signal(&not_full));
        OK(pthread_mutex_unlock(&mutex));
    }
    return (void *)sum;
}

static void test(void)
{
    pthread_t producers[3], consumers[3];
    intptr_t sum = 0;
    for (int i = 0; i < 3; i++) {
        producers[i] = start(produce, NULL);
        consumers[i] = start(consume, NULL);
    }
    for (int i = 0; i < 3; i++) {
        finish(producers[i]);
        sum += (intptr_t)finish(consumers[i]);
    }
    IS(sum, 3L * EACH * (EACH + 1) / 2);
}

int main(void) { return on_both(test); }
