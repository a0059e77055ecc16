/* pthread_cond_destroy, pthread_barrier_destroy, sem_destroy: EBUSY while somebody waits. */
#include "../check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond;
static pthread_barrier_t barrier;
static sem_t sem;
static atomic_int waiting, told;

static void *wait_for_all(void *unused)
{
    OK(pthread_mutex_lock(&mutex));
    waiting = 1;
    while (!told)
        OK(pthread_cond_wait(&cond, &mutex));
    OK(pthread_mutex_unlock(&mutex));
    waiting = 2;
    pthread_barrier_wait(&barrier);
    waiting = 3;
    OK(sem_wait(&sem));
    return unused;
}

static void test(void)
{
    waiting = told = 0;
    OK(pthread_cond_init(&cond, NULL));
    OK(pthread_barrier_init(&barrier, NULL, 2));
    OK(sem_init(&sem, 0, 0));
    pthread_t thread = start(wait_for_all, NULL);
    AWAIT(waiting == 1);
    OK(pthread_mutex_lock(&mutex));
    IS(pthread_cond_destroy(&cond), EBUSY);
    told = 1;
    OK(pthread_cond_signal(&cond));
    OK(pthread_mutex_unlock(&mutex));
    AWAIT(waiting == 2);
    until_all_block();
    IS(pthread_barrier_destroy(&barrier), EBUSY);
    pthread_barrier_wait(&barrier);
    AWAIT(waiting == 3);
    until_all_block();
    FAILS(sem_destroy(&sem), EBUSY);
    OK(sem_post(&sem));
    finish(thread);
}

int main(void) { return on_both(test); }
