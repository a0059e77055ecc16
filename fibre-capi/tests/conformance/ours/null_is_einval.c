/* pthread_mutex_lock, pthread_cond_signal, pthread_rwlock_unlock, sem_post: EINVAL for null pointers. */
#include "../check.h"

static void test(void)
{
    pthread_mutex_t *volatile mutex = NULL;
    pthread_cond_t *volatile cond = NULL;
    pthread_rwlock_t *volatile lock = NULL;
    pthread_barrier_t *volatile barrier = NULL;
    sem_t *volatile sem = NULL;
    IS(pthread_mutex_init(mutex, NULL), EINVAL);
    IS(pthread_mutex_lock(mutex), EINVAL);
    IS(pthread_mutex_unlock(mutex), EINVAL);
    IS(pthread_cond_signal(cond), EINVAL);
    IS(pthread_cond_broadcast(cond), EINVAL);
    IS(pthread_rwlock_rdlock(lock), EINVAL);
    IS(pthread_rwlock_unlock(lock), EINVAL);
    IS(pthread_barrier_wait(barrier), EINVAL);
    FAILS(sem_post(sem), EINVAL);
    FAILS(sem_wait(sem), EINVAL);
}

int main(void)
{
    return on_both(test);
}
