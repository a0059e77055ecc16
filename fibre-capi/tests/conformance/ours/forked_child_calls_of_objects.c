/* pthread_mutex_lock, pthread_cond_wait, sem_wait and their kin: in a forked child each returns, fails, or ends the process; none hangs. */
/* flags: -O2 */
/* flags: -O2 -DFIBRE_MAIN */
#include "../forked.h"

static pthread_mutex_t free_mutex, held_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t free_lock, held_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static pthread_once_t half_done;
static sem_t none, some;
static atomic_int holding, done;

static void hold(void)
{
    holding = 1;
    while (!done)
        usleep(1000);
}

static void *hold_all(void *unused)
{
    OK(pthread_mutex_lock(&held_mutex));
    OK(pthread_rwlock_wrlock(&held_lock));
    OK(pthread_once(&half_done, hold));
    OK(pthread_rwlock_unlock(&held_lock));
    OK(pthread_mutex_unlock(&held_mutex));
    return unused;
}

static struct timespec soon(void)
{
    return in_ms(CLOCK_REALTIME, 5);
}

static void in_free_mutex(void)
{
    struct timespec at = soon();
    OK(pthread_mutex_lock(&free_mutex));
    pthread_mutex_trylock(&free_mutex);
    pthread_mutex_timedlock(&free_mutex, &at);
    OK(pthread_mutex_unlock(&free_mutex));
    pthread_mutex_destroy(&free_mutex);
    pthread_mutex_init(&free_mutex, NULL);
}

static void in_held_mutex(void) { pthread_mutex_lock(&held_mutex); }

static void in_held_mutex_in_time(void)
{
    struct timespec at = soon();
    pthread_mutex_trylock(&held_mutex);
    pthread_mutex_timedlock(&held_mutex, &at);
    pthread_mutex_clocklock(&held_mutex, CLOCK_REALTIME, &at);
    pthread_mutex_unlock(&held_mutex);
    pthread_mutex_destroy(&held_mutex);
}

static void in_cond_wait(void)
{
    pthread_mutex_lock(&free_mutex);
    pthread_cond_wait(&cond, &free_mutex);
}

static void in_cond_in_time(void)
{
    struct timespec at = soon();
    pthread_mutex_lock(&free_mutex);
    pthread_cond_signal(&cond);
    pthread_cond_broadcast(&cond);
    pthread_cond_timedwait(&cond, &free_mutex, &at);
    pthread_cond_clockwait(&cond, &free_mutex, CLOCK_REALTIME, &at);
    pthread_cond_destroy(&cond);
    pthread_cond_init(&cond, NULL);
}

static void in_free_rwlock(void)
{
    OK(pthread_rwlock_rdlock(&free_lock));
    OK(pthread_rwlock_unlock(&free_lock));
    OK(pthread_rwlock_wrlock(&free_lock));
    OK(pthread_rwlock_unlock(&free_lock));
    pthread_rwlock_destroy(&free_lock);
    pthread_rwlock_init(&free_lock, NULL);
}

static void in_held_rwlock_to_read(void) { pthread_rwlock_rdlock(&held_lock); }
static void in_held_rwlock_to_write(void) { pthread_rwlock_wrlock(&held_lock); }

static void in_held_rwlock_in_time(void)
{
    struct timespec at = soon();
    pthread_rwlock_tryrdlock(&held_lock);
    pthread_rwlock_trywrlock(&held_lock);
    pthread_rwlock_timedrdlock(&held_lock, &at);
    pthread_rwlock_timedwrlock(&held_lock, &at);
    pthread_rwlock_unlock(&held_lock);
    pthread_rwlock_destroy(&held_lock);
}

static void in_barrier(void) { pthread_barrier_wait(&barrier); }
static void in_barrier_destroy(void) { pthread_barrier_destroy(&barrier); }

static void in_spin(void)
{
    OK(pthread_spin_lock(&spin));
    pthread_spin_trylock(&spin);
    OK(pthread_spin_unlock(&spin));
    pthread_spin_destroy(&spin);
}

static void in_once_of_others(void) { pthread_once(&half_done, hold); }
static void in_sem_wait(void) { sem_wait(&none); }

static void in_sem_in_time(void)
{
    struct timespec at = soon();
    int value;
    sem_trywait(&none);
    sem_timedwait(&none, &at);
    sem_clockwait(&none, CLOCK_REALTIME, &at);
    OK(sem_wait(&some));
    OK(sem_post(&none));
    OK(sem_wait(&none));
    sem_getvalue(&none, &value);
    sem_destroy(&none);
}

static const struct call CALLS[] = {
    CALL(in_free_mutex), CALL(in_held_mutex), CALL(in_held_mutex_in_time), CALL(in_cond_wait),
    CALL(in_cond_in_time), CALL(in_free_rwlock), CALL(in_held_rwlock_to_read),
    CALL(in_held_rwlock_to_write), CALL(in_held_rwlock_in_time), CALL(in_barrier),
    CALL(in_barrier_destroy), CALL(in_spin), CALL(in_once_of_others), CALL(in_sem_wait),
    CALL(in_sem_in_time),
};

static void test(void)
{
    half_done = (pthread_once_t)PTHREAD_ONCE_INIT;
    done = holding = 0;
    OK(pthread_mutex_init(&free_mutex, NULL));
    OK(pthread_rwlock_init(&free_lock, NULL));
    OK(pthread_barrier_init(&barrier, NULL, 2));
    OK(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE));
    OK(sem_init(&none, 0, 0));
    OK(sem_init(&some, 0, 1));
    pthread_t holder = start(hold_all, NULL);
    AWAIT(holding);
    each_in_a_child(CALLS, sizeof CALLS / sizeof *CALLS);
    done = 1;
    finish(holder);
}

int main(void)
{
    return on_both(test);
}
