/* pthread_mutexattr_setrobust, pthread_mutex_consistent: the next owner is told that the thread, or the process, has ended with the mutex; it makes it consistent, or nobody has it again. */
#include "shared.h"

static pthread_mutex_t *mutex;

static void lock_in_child(void)
{
    OK(PLAIN(pthread_mutex_lock)(mutex));
}

static void *lock_in_thread(void *unused)
{
    OK(pthread_mutex_lock(mutex));
    sched_yield();
    return unused;
}

static void *look(void *unused)
{
    IS(pthread_mutex_trylock(mutex), EBUSY);
    IS(pthread_mutex_unlock(mutex), EPERM);
    return unused;
}

static void test(void)
{
    OK(pthread_mutex_lock(mutex));
    IS(pthread_mutex_consistent(mutex), EINVAL);
    OK(pthread_mutex_unlock(mutex));
    finish(start(lock_in_thread, NULL));
    IS(pthread_mutex_lock(mutex), EOWNERDEAD);
    finish(start(look, NULL));
    OK(pthread_mutex_consistent(mutex));
    OK(pthread_mutex_unlock(mutex));
    finish(start(lock_in_thread, NULL));
    IS(pthread_mutex_trylock(mutex), EOWNERDEAD);
    OK(pthread_mutex_unlock(mutex));
    IS(pthread_mutex_lock(mutex), ENOTRECOVERABLE);
    OK(pthread_mutex_destroy(mutex));
    init_mutex(mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
}

int main(void)
{
    watch();
    mutex = share(sizeof *mutex);
    init_mutex(mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
    reap(child(lock_in_child));
    IS(pthread_mutex_lock(mutex), EOWNERDEAD);
    OK(pthread_mutex_consistent(mutex));
    OK(pthread_mutex_unlock(mutex));
    return on_both(test);
}
