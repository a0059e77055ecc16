/* sem_wait, sem_timedwait, pthread_mutex_lock, pthread_mutex_timedlock, pthread_barrier_wait, waitpid: those who wait by kernel threads, of which there are no more, keep nobody from running, and end. */
#include "../shared/shared.h"
/* not: own */
#include <sys/resource.h>

#define WAITERS 6

static struct {
    sem_t sem;
    pthread_mutex_t mutex;
    pthread_barrier_t barrier;
} *all;
static atomic_int waiting, ended;

/* From now on no thread can be started, also by a superuser, until the limit is raised. */
static void limit_threads(void)
{
    struct rlimit limit;
    OK(getrlimit(RLIMIT_NPROC, &limit));
    limit.rlim_cur = 1;
    OK(setrlimit(RLIMIT_NPROC, &limit));
    if (geteuid() == 0)
        OK(setuid(65534));
}

static void raise_limit(void)
{
    struct rlimit limit;
    OK(getrlimit(RLIMIT_NPROC, &limit));
    limit.rlim_cur = limit.rlim_max;
    OK(setrlimit(RLIMIT_NPROC, &limit));
}

static void *take(void *unused)
{
    waiting++;
    OK(sem_wait(&all->sem));
    ended++;
    return unused;
}

static void *take_late(void *unused)
{
    struct timespec soon = in_ms(CLOCK_REALTIME, 20), bad = bad_time(CLOCK_REALTIME);
    waiting++;
    FAILS(sem_timedwait(&all->sem, &soon), ETIMEDOUT);
    CHECK(is_past(CLOCK_REALTIME, soon));
    FAILS(sem_timedwait(&all->sem, &bad), EINVAL);
    soon = in_ms(CLOCK_MONOTONIC, 20);
    FAILS(sem_clockwait(&all->sem, CLOCK_MONOTONIC, &soon), ETIMEDOUT);
    CHECK(is_past(CLOCK_MONOTONIC, soon));
    return unused;
}

static void *lock(void *unused)
{
    waiting++;
    OK(pthread_mutex_lock(&all->mutex));
    ended++;
    OK(pthread_mutex_unlock(&all->mutex));
    return unused;
}

static void *lock_late(void *unused)
{
    struct timespec soon = in_ms(CLOCK_REALTIME, 20);
    waiting++;
    IS(pthread_mutex_timedlock(&all->mutex, &soon), ETIMEDOUT);
    CHECK(is_past(CLOCK_REALTIME, soon));
    return unused;
}

static void *gather(void *unused)
{
    waiting++;
    int result = pthread_barrier_wait(&all->barrier);
    CHECK(result == 0 || result == PTHREAD_BARRIER_SERIAL_THREAD);
    ended++;
    return unused;
}

static void *await_child(void *unused)
{
    waiting++;
    FAILS(waitpid(-1, NULL, 0), ECHILD);
    return unused;
}

/* Starts so many, which all wait. */
static void begin(pthread_t *threads, int count, void *(*routine)(void *))
{
    waiting = ended = 0;
    for (int i = 0; i < count; i++)
        threads[i] = start(routine, NULL);
    AWAIT(waiting == count);
    let_block();
    IS(ended, 0);
}

static void *test(void *unused)
{
    pthread_t threads[WAITERS];
    begin(threads, 1, take_late);
    CHECK(finish(threads[0]) == NULL);
    begin(threads, WAITERS, take);
    OK(pthread_cancel(threads[0]));
    CHECK(finish(threads[0]) == PTHREAD_CANCELED);
    for (int i = 1; i < WAITERS; i++)
        OK(sem_post(&all->sem));
    for (int i = 1; i < WAITERS; i++)
        CHECK(finish(threads[i]) == NULL);
    FAILS(sem_trywait(&all->sem), EAGAIN);
    OK(pthread_mutex_lock(&all->mutex));
    begin(threads, 1, lock_late);
    CHECK(finish(threads[0]) == NULL);
    begin(threads, WAITERS, lock);
    OK(pthread_mutex_unlock(&all->mutex));
    for (int i = 0; i < WAITERS; i++)
        CHECK(finish(threads[i]) == NULL);
    /* These wait until there can be threads. */
    begin(threads, WAITERS, gather);
    pthread_t other = start(await_child, NULL);
    AWAIT(waiting == WAITERS + 1);
    raise_limit();
    for (int i = 0; i < WAITERS; i++)
        CHECK(finish(threads[i]) == NULL);
    CHECK(finish(other) == NULL);
    return unused;
}

static void *nothing(void *unused)
{
    return unused;
}

int main(void)
{
    pthread_barrierattr_t attr;
    watch();
    all = share(sizeof *all);
    OK(sem_init(&all->sem, 1, 0));
    init_mutex(&all->mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED);
    OK(pthread_barrierattr_init(&attr));
    OK(pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
    OK(pthread_barrier_init(&all->barrier, &attr, WAITERS));
    OK(pthread_barrierattr_destroy(&attr));
    /* Processors are there before there can be no more threads. */
    finish(start(nothing, NULL));
    limit_threads();
    finish(start(test, NULL));
    return 0;
}
