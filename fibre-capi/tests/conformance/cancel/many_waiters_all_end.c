/* pthread_cancel: 300 threads that wait in different calls all end, and each handler runs once. */
#include "../check.h"

#define THREADS 300

static sem_t sem;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static atomic_int waiting, cleaned;

static void clean(void *locked)
{
    if (locked)
        OK(pthread_mutex_unlock(locked));
    cleaned++;
}

static void *run(void *number)
{
    int conditional = (intptr_t)number % 3 == 0;
    if (conditional)
        OK(pthread_mutex_lock(&mutex));
    pthread_cleanup_push(clean, conditional ? &mutex : NULL);
    waiting++;
    while (conditional)
        OK(pthread_cond_wait(&cond, &mutex));
    if ((intptr_t)number % 3 == 1)
        OK(sem_wait(&sem));
    for (;;)
        sleep(WATCHDOG);
    pthread_cleanup_pop(0);
    return NULL;
}

static void test(void)
{
    static pthread_t threads[THREADS];
    waiting = cleaned = 0;
    OK(sem_init(&sem, 0, 0));
    for (intptr_t i = 0; i < THREADS; i++)
        threads[i] = start(run, (void *)i);
    AWAIT(waiting == THREADS);
    for (int i = 0; i < THREADS; i++)
        OK(pthread_cancel(threads[i]));
    for (int i = 0; i < THREADS; i++)
        CHECK(finish(threads[i]) == PTHREAD_CANCELED);
    IS(cleaned, THREADS);
}

int main(void) { return on_both(test); }
