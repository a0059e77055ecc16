/* pthread_mutex_unlock: who locks the mutex after an unlock may destroy and free it at once. */
#include "../check.h"

#define ROUNDS 200

static pthread_mutex_t *mutex;

static void *unlock_it(void *held)
{
    OK(pthread_mutex_lock(held));
    OK(pthread_mutex_unlock(held));
    return NULL;
}

static void test(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        mutex = malloc(sizeof *mutex);
        OK(pthread_mutex_init(mutex, NULL));
        OK(pthread_mutex_lock(mutex));
        pthread_t thread = start(unlock_it, mutex);
        sched_yield();
        OK(pthread_mutex_unlock(mutex));
        finish(thread);
        OK(pthread_mutex_lock(mutex));
        OK(pthread_mutex_unlock(mutex));
        OK(pthread_mutex_destroy(mutex));
        memset(mutex, 0xa5, sizeof *mutex);
        free(mutex);
    }
}

int main(void)
{
    return on_both(test);
}
