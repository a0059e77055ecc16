/* pthread_cancel: after the cleanup handlers the keys' destructors are called. */
#include "../check.h"

static pthread_key_t key;
static sem_t ready;
static int order[2], steps;

static void destroy(void *value)
{
    order[steps++] = (int)(intptr_t)value;
}

static void clean(void *value)
{
    CHECK(pthread_getspecific(key) != NULL);
    order[steps++] = (int)(intptr_t)value;
}

static void *run(void *unused)
{
    OK(pthread_setspecific(key, (void *)2));
    pthread_cleanup_push(clean, (void *)1);
    OK(sem_post(&ready));
    for (;;)
        sleep(WATCHDOG);
    pthread_cleanup_pop(0);
    return unused;
}

static void test(void)
{
    steps = 0;
    OK(sem_init(&ready, 0, 0));
    OK(pthread_key_create(&key, destroy));
    pthread_t thread = start(run, NULL);
    OK(sem_wait(&ready));
    OK(pthread_cancel(thread));
    CHECK(finish(thread) == PTHREAD_CANCELED);
    IS(steps, 2);
    IS(order[0], 1);
    IS(order[1], 2);
    OK(pthread_key_delete(key));
}

int main(void)
{
    return on_both(test);
}
