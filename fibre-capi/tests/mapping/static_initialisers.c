/* pthread_mutex_lock, pthread_cond_signal, pthread_rwlock_wrlock, pthread_once: all of the system's initialisers, and zeroed memory, are valid. */
#include "../conformance/check.h"

static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t of_writers = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static int runs;

static void run_once(void)
{
    runs++;
}

static void locks(pthread_rwlock_t *lock)
{
    OK(pthread_rwlock_rdlock(lock));
    OK(pthread_rwlock_tryrdlock(lock));
    IS(pthread_rwlock_trywrlock(lock), EBUSY);
    OK(pthread_rwlock_unlock(lock));
    OK(pthread_rwlock_unlock(lock));
    OK(pthread_rwlock_wrlock(lock));
    IS(pthread_rwlock_tryrdlock(lock), EBUSY);
    OK(pthread_rwlock_unlock(lock));
}

static void test(void)
{
    pthread_once_t once = PTHREAD_ONCE_INIT;
    OK(pthread_mutex_lock(&normal));
    IS(pthread_mutex_trylock(&normal), EBUSY);
    OK(pthread_mutex_unlock(&normal));
    OK(pthread_mutex_lock(&recursive));
    OK(pthread_mutex_lock(&recursive));
    OK(pthread_mutex_unlock(&recursive));
    OK(pthread_mutex_unlock(&recursive));
    IS(pthread_mutex_unlock(&recursive), EPERM);
    OK(pthread_mutex_lock(&checking));
    IS(pthread_mutex_lock(&checking), EDEADLK);
    OK(pthread_mutex_unlock(&checking));
    IS(pthread_mutex_unlock(&checking), EPERM);
    OK(pthread_mutex_lock(&adaptive));
    OK(pthread_mutex_unlock(&adaptive));
    OK(pthread_cond_signal(&changed));
    OK(pthread_cond_broadcast(&changed));
    locks(&shared);
    locks(&of_writers);
    runs = 0;
    OK(pthread_once(&once, run_once));
    OK(pthread_once(&once, run_once));
    IS(runs, 1);
}

static void zeroed(void)
{
    pthread_mutex_t *lock = calloc(1, sizeof *lock);
    pthread_rwlock_t *both = calloc(1, sizeof *both);
    pthread_cond_t *condition = calloc(1, sizeof *condition);
    CHECK(lock && both && condition);
    OK(pthread_mutex_lock(lock));
    OK(pthread_mutex_unlock(lock));
    OK(pthread_mutex_destroy(lock));
    locks(both);
    OK(pthread_rwlock_destroy(both));
    OK(pthread_cond_broadcast(condition));
    OK(pthread_cond_destroy(condition));
    free(lock);
    free(both);
    free(condition);
}

static void both_kinds(void)
{
    test();
    zeroed();
}

int main(void)
{
    return on_both(both_kinds);
}
