/* sem_open, sem_close, sem_unlink: a name leads every process to the same semaphore, until it is taken away; ENOENT, EEXIST and EINVAL where there is none, one, or too many permits. */
#include "shared.h"

static char name[40];

static void post_in_child(void)
{
    sem_t *sem = PLAIN(sem_open)(name, 0);
    CHECK(sem != SEM_FAILED);
    OK(PLAIN(sem_post)(sem));
    OK(PLAIN(sem_close)(sem));
}

static void *post_in_thread(void *sem)
{
    let_block();
    OK(sem_post(sem));
    return NULL;
}

static void test(void)
{
    int value = -1;
    snprintf(name, sizeof name, "/fibre-%d", (int)getpid());
    CHECK(sem_open(name, 0) == SEM_FAILED && errno == ENOENT);
    CHECK(sem_open(name, O_CREAT, 0600, 1u + SEM_VALUE_MAX) == SEM_FAILED && errno == EINVAL);
    sem_t *sem = sem_open(name, O_CREAT | O_EXCL, 0600, 2);
    CHECK(sem != SEM_FAILED);
    CHECK(sem_open(name, O_CREAT | O_EXCL, 0600, 2) == SEM_FAILED && errno == EEXIST);
    CHECK(sem_open(name, O_CREAT, 0600, 7) == sem);
    OK(sem_getvalue(sem, &value));
    IS(value, 2);
    OK(sem_wait(sem));
    OK(sem_trywait(sem));
    FAILS(sem_trywait(sem), EAGAIN);
    struct timespec soon = in_ms(CLOCK_REALTIME, 10), bad = bad_time(CLOCK_REALTIME);
    FAILS(sem_timedwait(sem, &soon), ETIMEDOUT);
    CHECK(is_past(CLOCK_REALTIME, soon));
    FAILS(sem_timedwait(sem, &bad), EINVAL);
    soon = in_ms(CLOCK_MONOTONIC, 10);
    FAILS(sem_clockwait(sem, CLOCK_MONOTONIC, &soon), ETIMEDOUT);
    pthread_t thread = start(post_in_thread, sem);
    OK(sem_wait(sem));
    finish(thread);
    OK(sem_close(sem));
    OK(sem_unlink(name));
    FAILS(sem_unlink(name), ENOENT);
    /* It is there until nobody uses it. */
    OK(sem_post(sem));
    OK(sem_close(sem));
}

int main(void)
{
    watch();
    snprintf(name, sizeof name, "/fibre-%d", (int)getpid());
    sem_t *sem = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
    CHECK(sem != SEM_FAILED);
    pid_t pid = child(post_in_child);
    OK(sem_wait(sem));
    reap(pid);
    OK(sem_unlink(name));
    OK(sem_close(sem));
    return on_both(test);
}
