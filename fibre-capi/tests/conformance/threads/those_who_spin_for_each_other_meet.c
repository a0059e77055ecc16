/* pthread_create, pthread_cond_wait: threads that spin for each other, without any call, all run, however many; new ones, and
 * ones that have waited. */
#include "../check.h"

#define THREADS 7

static atomic_int come, again, waiting;
static int may_go;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void spin_for_all(atomic_int *count)
{
    ++*count;
    while (*count < THREADS)
        ;
}

static void *run(void *unused)
{
    spin_for_all(&come);
    OK(pthread_mutex_lock(&lock));
    waiting++;
    while (!may_go)
        OK(pthread_cond_wait(&changed, &lock));
    OK(pthread_mutex_unlock(&lock));
    spin_for_all(&again);
    return unused;
}

static void test(void)
{
    pthread_t threads[THREADS];
    come = again = waiting = may_go = 0;
    for (int i = 0; i < THREADS; i++)
        threads[i] = start(run, NULL);
    AWAIT(waiting == THREADS);
    OK(pthread_mutex_lock(&lock));
    may_go = 1;
    OK(pthread_cond_broadcast(&changed));
    OK(pthread_mutex_unlock(&lock));
    for (int i = 0; i < THREADS; i++)
        finish(threads[i]);
    IS(again, THREADS);
}

int main(void)
{
    return on_both(test);
}
