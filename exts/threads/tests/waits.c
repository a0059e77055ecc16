/* Says of each call that waits whether it blocks a thread of the kernel, or a fibre: one thread waits in it, and another
   ends the wait. If that has run on the same kernel thread meanwhile, the first one had left it: "fibre". Compiled once,
   and linked with and without the library. Ends with 1 if a result is wrong. To be run on one processor. */

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHECK(holds) \
    do { \
        if (!(holds)) { \
            printf("%s: line %d: " #holds " does not hold, errno %d\n", current->name, __LINE__, errno); \
            exit(1); \
        } \
    } while (0)

/* What waits, what ends the wait, and what comes before both and after. */
struct test {
    const char *name;
    void (*before)(void);
    void (*waits)(void);
    void (*ends)(void);
    void (*after)(void);
    /* What the first thread does before it waits; or null. */
    void (*first)(void);
};

static struct test *current;
static pthread_mutex_t mutex;
static pthread_cond_t cond;
static pthread_rwlock_t rwlock;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static pthread_once_t once;
static sem_t semaphore;
static pthread_t joined;
static int ends[2];
static pid_t child;
static atomic_int waiting, ended, signalled, in_once;
static _Thread_local int own;

/* So far in the future that nobody waits for it. */
static struct timespec later(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_sec += 3600;
    return time;
}

static void make_mutex(int kind) {
    pthread_mutexattr_t attributes;
    CHECK(pthread_mutexattr_init(&attributes) == 0);
    CHECK(pthread_mutexattr_settype(&attributes, kind) == 0);
    CHECK(pthread_mutex_init(&mutex, &attributes) == 0);
    CHECK(pthread_mutexattr_destroy(&attributes) == 0);
    CHECK(pthread_mutex_lock(&mutex) == 0);
}

/* A mutex is held by `main`, and `main` gives it back when the other thread has ended. */
static void before_normal(void) { make_mutex(PTHREAD_MUTEX_NORMAL); }
static void before_recursive(void) { make_mutex(PTHREAD_MUTEX_RECURSIVE); }
static void before_checking(void) { make_mutex(PTHREAD_MUTEX_ERRORCHECK); }
static void before_adaptive(void) { make_mutex(PTHREAD_MUTEX_ADAPTIVE_NP); }
static void lock(void) {
    CHECK(pthread_mutex_lock(&mutex) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
}
static void lock_twice(void) {
    CHECK(pthread_mutex_lock(&mutex) == 0);
    CHECK(pthread_mutex_lock(&mutex) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    CHECK(pthread_mutex_trylock(&mutex) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
}
static void lock_checking(void) {
    CHECK(pthread_mutex_lock(&mutex) == 0);
    CHECK(pthread_mutex_lock(&mutex) == EDEADLK);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == EPERM);
}
static void lock_not(void) {
    struct timespec past = {1, 0}, wrong = {1, -1};
    CHECK(pthread_mutex_timedlock(&mutex, &past) == ETIMEDOUT);
    CHECK(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &past) == ETIMEDOUT);
    CHECK(pthread_mutex_timedlock(&mutex, &wrong) == EINVAL);
    CHECK(pthread_mutex_trylock(&mutex) == EBUSY);
}
static void lock_timed(void) {
    struct timespec time = later(CLOCK_REALTIME);
    CHECK(pthread_mutex_timedlock(&mutex, &time) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
}
static void lock_clocked(void) {
    struct timespec time = later(CLOCK_MONOTONIC);
    CHECK(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &time) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
}
static void nothing(void) {}
static void after_mutex(void) { CHECK(pthread_mutex_unlock(&mutex) == 0); }

/* Condition variables. */
static void before_cond(void) {
    pthread_condattr_t attributes;
    CHECK(pthread_condattr_init(&attributes) == 0);
    CHECK(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
    CHECK(pthread_cond_init(&cond, &attributes) == 0);
    CHECK(pthread_condattr_destroy(&attributes) == 0);
    CHECK(pthread_mutex_init(&mutex, NULL) == 0);
    signalled = 0;
}
static void wait_cond(void) {
    CHECK(pthread_mutex_lock(&mutex) == 0);
    while (!signalled)
        CHECK(pthread_cond_wait(&cond, &mutex) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
}
static void wait_cond_not(void) {
    struct timespec past = {1, 0}, wrong = {1, 1000000000};
    CHECK(pthread_mutex_lock(&mutex) == 0);
    CHECK(pthread_cond_timedwait(&cond, &mutex, &past) == ETIMEDOUT);
    CHECK(pthread_cond_timedwait(&cond, &mutex, &wrong) == EINVAL);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
}
static void wait_cond_timed(void) {
    struct timespec time = later(CLOCK_MONOTONIC);
    CHECK(pthread_mutex_lock(&mutex) == 0);
    while (!signalled)
        CHECK(pthread_cond_timedwait(&cond, &mutex, &time) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
}
static void wait_cond_clocked(void) {
    struct timespec time = later(CLOCK_REALTIME);
    CHECK(pthread_mutex_lock(&mutex) == 0);
    while (!signalled)
        CHECK(pthread_cond_clockwait(&cond, &mutex, CLOCK_REALTIME, &time) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
}
static void signal_cond(void) {
    CHECK(pthread_mutex_lock(&mutex) == 0);
    signalled = 1;
    CHECK(pthread_cond_signal(&cond) == 0);
    CHECK(pthread_mutex_unlock(&mutex) == 0);
}
static void broadcast_cond(void) {
    CHECK(pthread_mutex_lock(&mutex) == 0);
    signalled = 1;
    CHECK(pthread_mutex_unlock(&mutex) == 0);
    CHECK(pthread_cond_broadcast(&cond) == 0);
}
static void after_cond(void) {
    CHECK(pthread_cond_destroy(&cond) == 0);
    CHECK(pthread_mutex_destroy(&mutex) == 0);
}

/* Read-write locks. */
static void before_writer(void) {
    CHECK(pthread_rwlock_init(&rwlock, NULL) == 0);
    CHECK(pthread_rwlock_wrlock(&rwlock) == 0);
}
static void before_reader(void) {
    CHECK(pthread_rwlock_init(&rwlock, NULL) == 0);
    CHECK(pthread_rwlock_rdlock(&rwlock) == 0);
}
static void wait_rwlock_not(void) {
    struct timespec past = {1, 0};
    CHECK(pthread_rwlock_timedrdlock(&rwlock, &past) == ETIMEDOUT);
    CHECK(pthread_rwlock_timedwrlock(&rwlock, &past) == ETIMEDOUT);
}
static void wait_read(void) {
    CHECK(pthread_rwlock_rdlock(&rwlock) == 0);
    CHECK(pthread_rwlock_unlock(&rwlock) == 0);
}
static void wait_write(void) {
    CHECK(pthread_rwlock_wrlock(&rwlock) == 0);
    CHECK(pthread_rwlock_rdlock(&rwlock) == EDEADLK);
    CHECK(pthread_rwlock_wrlock(&rwlock) == EDEADLK);
    CHECK(pthread_rwlock_unlock(&rwlock) == 0);
}
static void after_rwlock(void) { CHECK(pthread_rwlock_unlock(&rwlock) == 0); }

/* Semaphores, barriers, spin locks, what happens once. */
static void before_semaphore(void) { CHECK(sem_init(&semaphore, 0, 0) == 0); }
static void wait_semaphore(void) { CHECK(sem_wait(&semaphore) == 0); }
static void wait_semaphore_not(void) {
    struct timespec past = {1, 0};
    errno = 7;
    CHECK(sem_timedwait(&semaphore, &past) == -1 && errno == ETIMEDOUT);
    CHECK(sem_trywait(&semaphore) == -1 && errno == EAGAIN);
}
static void wait_semaphore_timed(void) {
    struct timespec time = later(CLOCK_REALTIME);
    errno = 7;
    CHECK(sem_timedwait(&semaphore, &time) == 0 && errno == 7);
}
static void post(void) { CHECK(sem_post(&semaphore) == 0); }
static void after_semaphore(void) { CHECK(sem_destroy(&semaphore) == 0); }
static atomic_int serial;
static void before_barrier(void) {
    serial = 0;
    CHECK(pthread_barrier_init(&barrier, NULL, 2) == 0);
}
static void come(void) {
    int came = pthread_barrier_wait(&barrier);
    CHECK(came == 0 || came == PTHREAD_BARRIER_SERIAL_THREAD);
    serial += came;
}
static void after_barrier(void) {
    CHECK(serial == PTHREAD_BARRIER_SERIAL_THREAD);
    CHECK(pthread_barrier_destroy(&barrier) == 0);
}
static void before_spin(void) {
    CHECK(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE) == 0);
    CHECK(pthread_spin_lock(&spin) == 0);
}
static void wait_spin(void) { CHECK(pthread_spin_lock(&spin) == 0); }
static void end_spin(void) { CHECK(pthread_spin_unlock(&spin) == 0); }
static void after_spin(void) { CHECK(pthread_spin_unlock(&spin) == 0); }
/* The thread that ends the wait is within the routine, and `waiting` is told by the one that waits. */
static void routine(void) {
    in_once = 1;
    while (!waiting)
        sched_yield();
    sched_yield();
}
static void before_once(void) {
    pthread_once_t fresh = PTHREAD_ONCE_INIT;
    once = fresh;
    in_once = 0;
}
static void wait_once(void) { CHECK(pthread_once(&once, routine) == 0); }

/* Threads, time, descriptors, processes. */
static void *until_ended(void *argument) {
    while (!ended)
        sched_yield();
    return argument;
}
static void before_join(void) { CHECK(pthread_create(&joined, NULL, until_ended, &ends) == 0); }
static void wait_join(void) {
    void *result;
    CHECK(pthread_join(joined, &result) == 0 && result == &ends);
}
static void wait_sleep(void) {
    struct timespec time = {0, 20000000};
    errno = 7;
    CHECK(nanosleep(&time, NULL) == 0 && errno == 7);
}
static void wait_usleep(void) { CHECK(usleep(20000) == 0); }
static void before_pipe(void) { CHECK(pipe(ends) == 0); }
static void before_sockets(void) { CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0); }
static void wait_read_bytes(void) {
    char byte;
    errno = 7;
    CHECK(read(ends[0], &byte, 1) == 1 && byte == 'x' && errno == 7);
}
static void wait_receive(void) {
    char byte;
    CHECK(recv(ends[0], &byte, 1, 0) == 1 && byte == 'x');
}
static void wait_poll(void) {
    struct pollfd asked = {ends[0], POLLIN, 0};
    CHECK(poll(&asked, 1, -1) == 1 && asked.revents == POLLIN);
}
static void wait_select(void) {
    fd_set asked;
    FD_ZERO(&asked);
    FD_SET(ends[0], &asked);
    CHECK(select(ends[0] + 1, &asked, NULL, NULL, NULL) == 1);
}
static void give(void) { CHECK(write(ends[1], "x", 1) == 1); }
static void after_ends(void) { CHECK(close(ends[0]) == 0 && close(ends[1]) == 0); }
static void before_child(void) {
    CHECK(pipe(ends) == 0);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        char byte;
        ssize_t got = read(ends[0], &byte, 1);
        _exit(got == 1 ? 3 : 4);
    }
}
static void wait_child(void) {
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

static struct test tests[] = {
    {"mutex", before_normal, lock, nothing, after_mutex, NULL},
    {"recursive mutex", before_recursive, lock_twice, nothing, after_mutex, NULL},
    {"error-checking mutex", before_checking, lock_checking, nothing, after_mutex, NULL},
    {"adaptive mutex", before_adaptive, lock, nothing, after_mutex, NULL},
    {"pthread_mutex_timedlock", before_normal, lock_timed, nothing, after_mutex, lock_not},
    {"pthread_mutex_clocklock", before_normal, lock_clocked, nothing, after_mutex, NULL},
    {"pthread_cond_wait", before_cond, wait_cond, signal_cond, after_cond, NULL},
    {"pthread_cond_wait, broadcast", before_cond, wait_cond, broadcast_cond, after_cond, NULL},
    {"pthread_cond_timedwait", before_cond, wait_cond_timed, signal_cond, after_cond, wait_cond_not},
    {"pthread_cond_clockwait", before_cond, wait_cond_clocked, signal_cond, after_cond, NULL},
    {"pthread_rwlock_rdlock", before_writer, wait_read, nothing, after_rwlock, wait_rwlock_not},
    {"pthread_rwlock_wrlock", before_reader, wait_write, nothing, after_rwlock, NULL},
    {"sem_wait", before_semaphore, wait_semaphore, post, after_semaphore, NULL},
    {"sem_timedwait", before_semaphore, wait_semaphore_timed, post, after_semaphore, wait_semaphore_not},
    {"pthread_barrier_wait", before_barrier, come, come, after_barrier, NULL},
    {"pthread_spin_lock", before_spin, wait_spin, end_spin, after_spin, NULL},
    {"pthread_once", before_once, wait_once, NULL, nothing, NULL},
    {"pthread_join", before_join, wait_join, nothing, nothing, NULL},
    {"nanosleep", nothing, wait_sleep, nothing, nothing, NULL},
    {"usleep", nothing, wait_usleep, nothing, nothing, NULL},
    {"read from a pipe", before_pipe, wait_read_bytes, give, after_ends, NULL},
    {"read from a socket", before_sockets, wait_read_bytes, give, after_ends, NULL},
    {"recv", before_sockets, wait_receive, give, after_ends, NULL},
    {"poll", before_pipe, wait_poll, give, after_ends, NULL},
    {"select", before_pipe, wait_select, give, after_ends, NULL},
    {"waitpid", before_child, wait_child, give, after_ends, NULL},
};

static pid_t waiter, ender;

static void *wait_here(void *argument) {
    if (current->ends == NULL)
        while (!in_once)
            sched_yield();
    own = 5;
    if (current->first != NULL)
        current->first();
    waiter = gettid();
    waiting = 1;
    current->waits();
    CHECK(own == 5);
    return argument;
}

static void *end_here(void *argument) {
    if (current->ends == NULL) {
        CHECK(pthread_once(&once, routine) == 0);
        ender = gettid();
        ended = 1;
        return argument;
    }
    while (!waiting)
        sched_yield();
    own = 6;
    ender = gettid();
    current->ends();
    ended = 1;
    return argument;
}

int main(void) {
    alarm(60);
    for (size_t at = 0; at < sizeof tests / sizeof *tests; at++) {
        pthread_t threads[2];
        void *result;
        current = &tests[at];
        waiting = ended = 0;
        current->before();
        CHECK(pthread_create(&threads[0], NULL, wait_here, &waiter) == 0);
        CHECK(pthread_create(&threads[1], NULL, end_here, &ender) == 0);
        CHECK(pthread_join(threads[1], &result) == 0 && result == &ender);
        /* What `main` holds, the first thread now gets. */
        if (current->after == after_mutex || current->after == after_rwlock)
            current->after();
        CHECK(pthread_join(threads[0], &result) == 0 && result == &waiter);
        if (current->after != after_mutex && current->after != after_rwlock)
            current->after();
        CHECK(own == 0);
        printf("%s: %s\n", current->name, waiter == ender ? "fibre" : "thread");
    }
    return 0;
}
