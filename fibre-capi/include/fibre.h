/*
 * fibre.h - user-level threads with the calls of POSIX threads.
 *
 * pthread_X is fibre_X, sem_X is fibre_sem_X, and a call x of the C library is fibre_x, each with the signature,
 * the return value and the error numbers of POSIX. See docs/c/README.md.
 *
 * Made by `cargo xtask header`. Do not change it by hand.
 */


#ifndef FIBRE_H
#define FIBRE_H

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>

/* What the system's headers have, if they are asked for it. */
struct timespec;
struct sched_param;
struct iovec;
struct msghdr;
struct mmsghdr;
struct sockaddr;
struct addrinfo;
struct hostent;
struct servent;
struct passwd;
struct group;
struct rusage;
struct epoll_event;
struct pollfd;
struct timeval;
struct sembuf;
struct aiocb;
struct termios;
union sigval;

/* Of attributes. */
#define FIBRE_CREATE_JOINABLE 0
#define FIBRE_CREATE_DETACHED 1
#define FIBRE_PRIORITY_BACKGROUND (-2) /* only if there is nothing else to do in the whole cluster */
#define FIBRE_PRIORITY_LOW (-1)        /* after the others */
#define FIBRE_PRIORITY_NORMAL 0
#define FIBRE_PRIORITY_HIGH 1          /* before the others */

/* Of cancellation. */
#define FIBRE_CANCEL_ENABLE 0
#define FIBRE_CANCEL_DISABLE 1
#define FIBRE_CANCEL_DEFERRED 0
#define FIBRE_CANCEL_ASYNCHRONOUS 1
#define FIBRE_CANCELED ((void *)-1)

/* Initialisers. All zeros is the initial state of every object that has one. */
#define FIBRE_MUTEX_INITIALIZER {{0}}
#define FIBRE_RECURSIVE_MUTEX_INITIALIZER {{0, 0, 1}}
#define FIBRE_ERRORCHECK_MUTEX_INITIALIZER {{0, 0, 2}}
#define FIBRE_ADAPTIVE_MUTEX_INITIALIZER {{0, 0, 3}}
#define FIBRE_COND_INITIALIZER {{0}}
#define FIBRE_RWLOCK_INITIALIZER {{0}}
#define FIBRE_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER {{0, 0, 0, 0, 0, 0, 2}}
#define FIBRE_SPIN_INITIALIZER {0}
#define FIBRE_ONCE_INIT {0}

/* Kinds of mutexes. */
#define FIBRE_MUTEX_NORMAL 0
#define FIBRE_MUTEX_RECURSIVE 1
#define FIBRE_MUTEX_ERRORCHECK 2
#define FIBRE_MUTEX_ADAPTIVE 3
#define FIBRE_MUTEX_DEFAULT FIBRE_MUTEX_NORMAL

/* What mutexes are made of: see fibre_mutexattr_setvariant. */
#define FIBRE_MUTEX_HYBRID 0
#define FIBRE_MUTEX_BARGING 1
#define FIBRE_MUTEX_SPIN_THEN_BLOCK 2
#define FIBRE_MUTEX_BATON 3
#define FIBRE_MUTEX_EXCHANGE 4
#define FIBRE_MUTEX_SPIN 5

/* Which side goes first if readers come while a writer waits: see fibre_rwlockattr_setkind. */
#define FIBRE_RWLOCK_PREFER_READER 0
#define FIBRE_RWLOCK_PREFER_WRITER 1
#define FIBRE_RWLOCK_PREFER_WRITER_NONRECURSIVE 2

/* For attributes. */
#define FIBRE_PROCESS_PRIVATE 0
#define FIBRE_PROCESS_SHARED 1
#define FIBRE_MUTEX_STALLED 0
#define FIBRE_MUTEX_ROBUST 1
#define FIBRE_PRIO_NONE 0
#define FIBRE_PRIO_INHERIT 1
#define FIBRE_PRIO_PROTECT 2

/* What fibre_barrier_wait returns to one of the parties. */
#define FIBRE_BARRIER_SERIAL_THREAD (-1)

/* pthread_cleanup_push and pthread_cleanup_pop: a pair within one block. The routine is called if the fibre ends between them,
 * or at the second one if that is told so. */
#define fibre_cleanup_push(routine, argument) \
    do { \
        fibre_cleanup_t fibre_cleanup_frame_; \
        fibre_cleanup_enter(&fibre_cleanup_frame_, (routine), (argument))
#define fibre_cleanup_pop(execute) \
        fibre_cleanup_leave(&fibre_cleanup_frame_, (execute)); \
    } while (0)


/*
 A cluster: processors that share work.
 */
typedef struct fibre_cluster_t fibre_cluster_t;

/*
 What new fibres are to be like.
 */
typedef struct fibre_attr_t {
    /*
     Bytes of the stack; zero for the cluster's.
     */
    size_t stack_size;
    /*
     Where the stack ends, above its highest byte: of the program's memory that is to be the
     stack, or of a fibre that there is; else null.
     */
    void *stack_end;
    /*
     In which cluster; null for the creator's.
     */
    const struct fibre_cluster_t *cluster;
    /*
     The CPUs that its processor may stand for, a bit each; zero for all.
     */
    uint64_t processors;
    /*
     Its name; empty for none.
     */
    char name[16];
    /*
     Bytes of the guard that have been asked for, plus one; zero for the default.
     */
    uint32_t guard;
    /*
     `PTHREAD_CREATE_JOINABLE` or `PTHREAD_CREATE_DETACHED`.
     */
    uint8_t detached;
    /*
     `PTHREAD_INHERIT_SCHED` or `PTHREAD_EXPLICIT_SCHED`.
     */
    uint8_t explicit_;
    /*
     `SCHED_OTHER`, `SCHED_FIFO`, `SCHED_RR` and the like.
     */
    uint8_t policy;
    /*
     The priority of that policy, or one of fibres and [`OFFSET`].
     */
    uint8_t priority;
} fibre_attr_t;

/*
 A barrier: `pthread_barrier_t`.
 */
typedef struct fibre_barrier_t {
    /*
     The library's memory.
     */
    uint64_t words[4];
} fibre_barrier_t;

/*
 What a barrier is made by: `pthread_barrierattr_t`.
 */
typedef struct fibre_barrierattr_t {
    /*
     Ours: one if processes share the barrier, else zero, unless destroyed.
     */
    uint32_t word;
} fibre_barrierattr_t;

/*
 What a fibre runs. From C, never null.
 */
typedef void *(*fibre_start_t)(void *argument);

/*
 A fibre or a thread: an index, and above it a generation; zero is nobody. `pthread_t` has the
 same size.
 */
typedef uint64_t fibre_t;

/*
 What a cleanup handler, or the destructor of a key, is.
 */
typedef void (*fibre_routine_t)(void *argument);

/*
 A cleanup handler, as the macros of the header put it into the frame that pushes it.
 */
typedef struct fibre_cleanup_t {
    /*
     What is called.
     */
    fibre_routine_t routine;
    /*
     The argument of the call.
     */
    void *argument;
    /*
     The one that was pushed before.
     */
    struct fibre_cleanup_t *next;
} fibre_cleanup_t;

/*
 What a cluster is to be like. Zeros, and what `size` leaves out, are the defaults, which the
 environment sets (docs/CONFIGURATION.md).
 */
typedef struct fibre_config_t {
    /*
     The size of this structure, as the program knows it: `sizeof(fibre_config_t)`.
     */
    size_t size;
    /*
     How many processors.
     */
    unsigned int processors;
    /*
     How many there may be once some have been added.
     */
    unsigned int max_processors;
    /*
     The most fibres at once.
     */
    size_t max_fibres;
    /*
     Bytes of a stack.
     */
    size_t stack_size;
    /*
     What the processors' threads are called.
     */
    const char *name;
    /*
     Where they run: `none`, `each`, or sets of CPUs as in `0-3;4-7`.
     */
    const char *pin;
    /*
     Where new fibres go: `push`, `staging`, `local`, `head`.
     */
    const char *placement;
    /*
     Which processor an idle one helps: `longest-busy`, `ring`, `random`, `topology`,
     `hierarchical`, `never`.
     */
    const char *steal_order;
    /*
     Whether a stolen fibre goes home afterwards: `transient`, or `sticky:N` for queues longer
     than N.
     */
    const char *stealing;
    /*
     What waits for descriptors: `processors`, `shared`, `fibre`, `thread-loop`, …
     */
    const char *poller;
    /*
     Microseconds that a processor without work spins at most, plus one.
     */
    long spin;
    /*
     1 if fibres that have started stay on their processors.
     */
    int fibres_stay;
    /*
     1 if a fibre reads without letting others run first.
     */
    int read_at_once;
    /*
     1 if the memory of a stack goes back to the kernel when its fibre has ended.
     */
    int wipe_stacks;
    /*
     Microseconds that a fibre which never blocks runs before it lets others run, plus one.
     */
    long slice;
    /*
     The most spare processors, which run what all others are kept from by fibres that do not
     switch, plus one.
     */
    unsigned int max_spare;
    /*
     Is not read: programs that were compiled earlier may have anything here.
     */
    int reserved;
    /*
     1 if each fibre has thread-locals of its own: to the language and to the C library it is a
     thread (docs/c/thread-locals.md). Not together with `fibres_stay`.
     */
    long own_thread_locals;
} fibre_config_t;

/*
 A condition variable: `pthread_cond_t`. All zeros is one that nobody waits on.
 */
typedef struct fibre_cond_t {
    /*
     The library's memory.
     */
    uint64_t words[6];
} fibre_cond_t;

/*
 A mutex: `pthread_mutex_t`. All zeros is a free one of the default kind.
 */
typedef struct fibre_mutex_t {
    /*
     The library's memory.
     */
    uint64_t words[5];
} fibre_mutex_t;

/*
 What a condition variable is made by: `pthread_condattr_t`.
 */
typedef struct fibre_condattr_t {
    /*
     Ours: the clock, and a flag.
     */
    uint32_t word;
} fibre_condattr_t;

/*
 A key of values of which each fibre has its own.
 */
typedef uint32_t fibre_key_t;

/*
 What a mutex is made by: `pthread_mutexattr_t`.
 */
typedef struct fibre_mutexattr_t {
    /*
     Ours: kind, 16 times the variant, and flags.
     */
    uint32_t word;
} fibre_mutexattr_t;

/*
 Whether something has happened: `pthread_once_t`. All zeros: it has not.
 */
typedef struct fibre_once_t {
    /*
     The library's memory.
     */
    int word;
} fibre_once_t;

/*
 A read-write lock: `pthread_rwlock_t`. All zeros is a free one of the default kind.
 */
typedef struct fibre_rwlock_t {
    /*
     The library's memory.
     */
    uint64_t words[7];
} fibre_rwlock_t;

/*
 What a read-write lock is made by: `pthread_rwlockattr_t`.
 */
typedef struct fibre_rwlockattr_t {
    /*
     Ours: the kind, and a flag.
     */
    uint64_t word;
} fibre_rwlockattr_t;

/*
 A semaphore: `sem_t`. All zeros is one without a permit.
 */
typedef struct fibre_sem_t {
    /*
     The library's memory.
     */
    uint64_t words[4];
} fibre_sem_t;

/*
 What is called for a signal; or `SIG_DFL` and its kin.
 */
typedef void (*fibre_handler_t)(int signal);

/*
 A spin lock: `pthread_spinlock_t`. All zeros is a free one.
 */
typedef struct fibre_spinlock_t {
    /*
     The library's memory.
     */
    int word;
} fibre_spinlock_t;

/*
 A `main`.
 */
typedef int (*fibre_main_t)(int, char**, char**);

/*
 What the C library's beginning calls before and after `main`, if anything.
 */
typedef void (*fibre_hook_t)(void);

#ifdef __cplusplus
extern "C" {
#endif /* __cplusplus */

/*
 `accept`: [`fibre_accept4`] without flags.
 */
int fibre_accept(int fd, struct sockaddr *address, socklen_t *length);

/*
 `accept4`: the next connection; waits for it, unless the listener is non-blocking, as long as
 its time-out for receiving says. A cancellation point.
 */
int fibre_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);

/*
 `aio_suspend`: waits for one of several operations, for so long at most. A cancellation point.
 */
int fibre_aio_suspend(const struct aiocb *const *operations, int count, const struct timespec *time_out);

/*
 `pthread_atfork`: functions to call at a fork. In the child the runtime is dead: all that can be
 done there is to exec another program.
 */
int fibre_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

/*
 `pthread_attr_destroy`: does nothing.
 */
int fibre_attr_destroy(struct fibre_attr_t *_attr);

/*
 `pthread_attr_getaffinity_np`: what has been set, or else all. `EINVAL` if the set has no room
 for 64 processors.
 */
int fibre_attr_getaffinity(const struct fibre_attr_t *attr, size_t size, void *set);

/*
 `pthread_attr_getdetachstate`.
 */
int fibre_attr_getdetachstate(const struct fibre_attr_t *attr, int *state);

/*
 `pthread_attr_getguardsize`: what has been set, or else a page, as the system has it. Of a fibre
 that there is, what its stack has.
 */
int fibre_attr_getguardsize(const struct fibre_attr_t *attr, size_t *size);

/*
 `pthread_attr_getinheritsched`.
 */
int fibre_attr_getinheritsched(const struct fibre_attr_t *attr, int *inherit);

/*
 `pthread_attr_getschedparam`.
 */
int fibre_attr_getschedparam(const struct fibre_attr_t *attr, struct sched_param *param);

/*
 `pthread_attr_getschedpolicy`.
 */
int fibre_attr_getschedpolicy(const struct fibre_attr_t *attr, int *policy);

/*
 `pthread_attr_getscope`.
 */
int fibre_attr_getscope(const struct fibre_attr_t *attr, int *scope);

/*
 `pthread_attr_getsigmask_np`: there is none, `PTHREAD_ATTR_NO_SIGMASK_NP`.
 */
int fibre_attr_getsigmask(const struct fibre_attr_t *_attr, void *_mask);

/*
 `pthread_attr_getstack`: what has been set, or what `fibre_getattr` has found; null if that is
 none.
 */
int fibre_attr_getstack(const struct fibre_attr_t *attr, void **stack, size_t *size);

/*
 `pthread_attr_getstackaddr`: the highest address of what has been set, or of what
 `fibre_getattr` has found.
 */
int fibre_attr_getstackaddr(const struct fibre_attr_t *attr, void **stack);

/*
 `pthread_attr_getstacksize`: what has been set, or else what stacks have.
 */
int fibre_attr_getstacksize(const struct fibre_attr_t *attr, size_t *size);

/*
 `pthread_attr_init`: the defaults, which are all zeros.
 */
int fibre_attr_init(struct fibre_attr_t *attr);

/*
 `pthread_attr_setaffinity_np`: the processors of the cluster that the fibre may run on, as bits
 0 to 63 of a set of CPUs: each processor stands for the CPU of its number. The fibre gets one of
 them, and stays there; with all of them it may move. CPUs that no processor stands for count
 only if there are no others in the set: then some processor stands for them. `EINVAL` for an
 empty set; at creation, for one that has no CPU of the machine.
 */
int fibre_attr_setaffinity(struct fibre_attr_t *attr, size_t size, const void *set);

/*
 The cluster that new fibres are to live in; null for the creator's.
 */
int fibre_attr_setcluster(struct fibre_attr_t *attr, const struct fibre_cluster_t *cluster);

/*
 `pthread_attr_setdetachstate`. `EINVAL` for an unknown state.
 */
int fibre_attr_setdetachstate(struct fibre_attr_t *attr, int state);

/*
 `pthread_attr_setguardsize`: is kept; all stacks have a guard of 64 KiB.
 */
int fibre_attr_setguardsize(struct fibre_attr_t *attr, size_t size);

/*
 `pthread_attr_setinheritsched`: whether scheduling is as the attributes say. `EINVAL` for an
 unknown value.
 */
int fibre_attr_setinheritsched(struct fibre_attr_t *attr, int inherit);

/*
 The name of new fibres: up to 15 bytes. `ERANGE` for a longer one.
 */
int fibre_attr_setname(struct fibre_attr_t *attr, const char *name);

/*
 The priority of new fibres: low, normal, high or background (see the constants above). `EINVAL`
 for another one.
 */
int fibre_attr_setpriority(struct fibre_attr_t *attr, int priority);

/*
 `pthread_attr_setschedparam`: the priority, in the range of the policy; else `EINVAL`.
 */
int fibre_attr_setschedparam(struct fibre_attr_t *attr, const struct sched_param *param);

/*
 `pthread_attr_setschedpolicy`: fibres of a real-time policy go before others, if scheduling is
 explicit. `EINVAL` for an unknown policy.
 */
int fibre_attr_setschedpolicy(struct fibre_attr_t *attr, int policy);

/*
 `pthread_attr_setscope`: there is one scope, which is called that of the system, as on Linux.
 `ENOTSUP` for that of the process, `EINVAL` for an unknown one.
 */
int fibre_attr_setscope(struct fibre_attr_t *_attr, int scope);

/*
 `pthread_attr_setsigmask_np`: a new fibre's mask is its creator's: `ENOTSUP`, but for null.
 */
int fibre_attr_setsigmask(struct fibre_attr_t *_attr, const void *mask);

/*
 `pthread_attr_setstack`: memory of the program's that is to be the stack, from its lowest byte
 on. It has no guard, and nothing touches it once the fibre has been joined. `EINVAL` for a stack
 that is too small, or for none.
 */
int fibre_attr_setstack(struct fibre_attr_t *attr, void *stack, size_t size);

/*
 `pthread_attr_setstackaddr`: the highest address of memory that is to be the stack, as
 `fibre_attr_setstack` has it; how large it is `fibre_attr_setstacksize` says.
 */
int fibre_attr_setstackaddr(struct fibre_attr_t *attr, void *stack);

/*
 `pthread_attr_setstacksize`: bytes of the stack, which are rounded up to a power of two.
 `EINVAL` below `PTHREAD_STACK_MIN`.
 */
int fibre_attr_setstacksize(struct fibre_attr_t *attr, size_t size);

/*
 `pthread_barrier_destroy`. `EBUSY` if somebody waits, `EINVAL` if it has been destroyed.
 */
int fibre_barrier_destroy(struct fibre_barrier_t *barrier);

/*
 `pthread_barrier_init`: one for so many parties. `EINVAL` for none, or for attributes that have
 been destroyed.
 */
int fibre_barrier_init(struct fibre_barrier_t *barrier,
                       const struct fibre_barrierattr_t *attributes,
                       unsigned int parties);

/*
 `pthread_barrier_wait`: waits until all parties have come. `PTHREAD_BARRIER_SERIAL_THREAD` (-1)
 for one of them, zero for the others. `EINVAL` if it has been destroyed.
 */
int fibre_barrier_wait(struct fibre_barrier_t *barrier);

/*
 `pthread_barrierattr_destroy`: they are of no use any more.
 */
int fibre_barrierattr_destroy(struct fibre_barrierattr_t *attributes);

/*
 `pthread_barrierattr_getpshared`: whether processes share the barrier.
 */
int fibre_barrierattr_getpshared(const struct fibre_barrierattr_t *attributes, int *value);

/*
 `pthread_barrierattr_init`.
 */
int fibre_barrierattr_init(struct fibre_barrierattr_t *attributes);

/*
 `pthread_barrierattr_setpshared`: `PTHREAD_PROCESS_SHARED` for a barrier of the system's, which
 processes share; else `PTHREAD_PROCESS_PRIVATE`. Errors as for `fibre_mutexattr_setpshared`.
 */
int fibre_barrierattr_setpshared(struct fibre_barrierattr_t *attributes, int value);

/*
 Runs `routine(argument)` on a thread that may block, and returns what it returns; the calling
 fibre waits, and its processor runs others. `errno` is what the routine has left. For calls that
 would block a processor: files, libraries of others. The routine is no fibre. Its thread blocks
 signals, as processors do, whatever it made of its mask before.
 */
void *fibre_blocking(fibre_start_t routine, void *argument);

/*
 `pthread_cancel`: cancels a fibre, which ends at its next cancellation point; the caller itself
 in this call, if its type is the asynchronous one. `ESRCH` if it has ended; `ENOTSUP` for a
 plain thread.
 */
int fibre_cancel(fibre_t thread);

/*
 Pushes a cleanup handler; for the macro `fibre_cleanup_push`.
 */
void fibre_cleanup_enter(struct fibre_cleanup_t *handler, fibre_routine_t routine, void *argument);

/*
 Pops the cleanup handler that was pushed last, and calls it if asked to; for the macro
 `fibre_cleanup_pop`.
 */
void fibre_cleanup_leave(struct fibre_cleanup_t *handler, int execute);

/*
 `clock_nanosleep`: for a time, or, with `TIMER_ABSTIME`, until a clock shows it:
 `CLOCK_REALTIME` also if that is set meanwhile, which is noticed within a second. Returns an
 error number: `EINVAL` for a clock that is not known or does not go on while one sleeps, or if
 `time` is invalid; `ENOTSUP` for clocks of CPU time.
 */
int fibre_clock_nanosleep(clockid_t clock,
                          int flags,
                          const struct timespec *time,
                          struct timespec *remaining);

/*
 `pthread_clockjoin_np`: `fibre_timedjoin` by `CLOCK_REALTIME` or `CLOCK_MONOTONIC`.
 */
int fibre_clockjoin(fibre_t thread, void **result, clockid_t clock, const struct timespec *deadline);

/*
 `close`: calls that wait for the descriptor fail with `EBADF`. A cancellation point before it
 begins.
 */
int fibre_close(int fd);

/*
 Adds processors to a cluster; null is the default one. `EAGAIN` if there is no room for so many,
 or their threads cannot be started.
 */
int fibre_cluster_add_processors(struct fibre_cluster_t *cluster, unsigned int more);

/*
 Starts another cluster. `EINVAL` for a configuration that makes no sense, `EAGAIN` if its
 threads cannot be started.
 */
int fibre_cluster_create(struct fibre_cluster_t **cluster, const struct fibre_config_t *config);

/*
 Waits until all fibres of a cluster have ended, and ends it. `EDEADLK` in one of them, `EBUSY`
 while it is paused.
 */
int fibre_cluster_destroy(struct fibre_cluster_t *cluster);

/*
 How many fibres a cluster has that have not ended; null is the default one.
 */
size_t fibre_cluster_live(const struct fibre_cluster_t *cluster);

/*
 Lets all processors of a cluster stand still, each between two fibres, until it is resumed as
 often; null is the default one. `EDEADLK` in one of its fibres.
 */
int fibre_cluster_pause(const struct fibre_cluster_t *cluster);

/*
 How many processors a cluster has; null is the default one. -1 if that cannot be started.
 */
int fibre_cluster_processors(const struct fibre_cluster_t *cluster);

/*
 Undoes one `fibre_cluster_pause`. `EPERM` if there was none.
 */
int fibre_cluster_resume(const struct fibre_cluster_t *cluster);

/*
 Ends a cluster come what may: waits for so many milliseconds, then cancels its fibres, waits
 again, and leaves behind what is there then. `ETIMEDOUT` if anything is; and as
 `fibre_cluster_destroy`.
 */
int fibre_cluster_stop(struct fibre_cluster_t *cluster, unsigned int drain_ms, unsigned int cancel_ms);

/*
 `pthread_cond_broadcast`: wakes all that wait. `EINVAL` if it has been destroyed.
 */
int fibre_cond_broadcast(struct fibre_cond_t *cond);

/*
 `pthread_cond_clockwait`: the same by this clock, which is `CLOCK_REALTIME` or
 `CLOCK_MONOTONIC`; else `EINVAL`.
 */
int fibre_cond_clockwait(struct fibre_cond_t *cond,
                         struct fibre_mutex_t *mutex,
                         clockid_t clock_number,
                         const struct timespec *deadline);

/*
 `pthread_cond_destroy`. `EBUSY` if somebody waits, `EINVAL` if it has been destroyed. Right
 after a broadcast it may wait for a moment, for those who are about to leave.
 */
int fibre_cond_destroy(struct fibre_cond_t *cond);

/*
 `pthread_cond_init`: one that nobody waits on. `EINVAL` for attributes that have been destroyed.
 */
int fibre_cond_init(struct fibre_cond_t *cond, const struct fibre_condattr_t *attributes);

/*
 `pthread_cond_signal`: wakes the one that has waited longest, if any. `EINVAL` if it has been
 destroyed.
 */
int fibre_cond_signal(struct fibre_cond_t *cond);

/*
 `pthread_cond_timedwait`: the same until the condition variable's clock shows `deadline`, at
 most. `ETIMEDOUT`, with the mutex locked; `EINVAL` if that is no time, and then the mutex has
 not been unlocked.
 */
int fibre_cond_timedwait(struct fibre_cond_t *cond,
                         struct fibre_mutex_t *mutex,
                         const struct timespec *deadline);

/*
 `pthread_cond_wait`: unlocks the mutex, waits for a signal, and locks the mutex again. `EPERM`
 if the mutex is not the caller's, and its kind checks that; `EINVAL` if either has been
 destroyed. A cancellation point, left with the mutex locked.
 */
int fibre_cond_wait(struct fibre_cond_t *cond, struct fibre_mutex_t *mutex);

/*
 `pthread_condattr_destroy`: they are of no use any more.
 */
int fibre_condattr_destroy(struct fibre_condattr_t *attributes);

/*
 `pthread_condattr_getclock`: the clock of deadlines.
 */
int fibre_condattr_getclock(const struct fibre_condattr_t *attributes, clockid_t *clock_number);

/*
 `pthread_condattr_getpshared`: whether processes share the condition variable.
 */
int fibre_condattr_getpshared(const struct fibre_condattr_t *attributes, int *value);

/*
 `pthread_condattr_init`: attributes with the clock of real time.
 */
int fibre_condattr_init(struct fibre_condattr_t *attributes);

/*
 `pthread_condattr_setclock`: `CLOCK_REALTIME` or `CLOCK_MONOTONIC`; else `EINVAL`.
 */
int fibre_condattr_setclock(struct fibre_condattr_t *attributes, clockid_t clock_number);

/*
 `pthread_condattr_setpshared`: `PTHREAD_PROCESS_SHARED` for a condition variable of the
 system's, which processes share and whose mutex they share, too; else `PTHREAD_PROCESS_PRIVATE`.
 Errors as for `fibre_mutexattr_setpshared`.
 */
int fibre_condattr_setpshared(struct fibre_condattr_t *attributes, int value);

/*
 `connect`: to an address; waits for the peer, unless the socket is non-blocking. A cancellation
 point.
 */
int fibre_connect(int fd, const struct sockaddr *address, socklen_t length);

/*
 `copy_file_range`: from file to file. Blocks the fibre.
 */
ptrdiff_t fibre_copy_file_range(int from,
                                int64_t *from_offset,
                                int to,
                                int64_t *to_offset,
                                size_t count,
                                unsigned int flags);

/*
 `creat`.
 */
int fibre_creat(const char *path, unsigned int mode);

/*
 `pthread_create`: a fibre in the caller's cluster, or, for a caller that is no fibre, in the
 default one. What has been created runs. `EAGAIN` if there cannot be another one, not even once
 the caller has yielded; `EINVAL` if the cluster has no such processor, or the priority is none
 of the policy.
 */
int fibre_create(fibre_t *thread, const struct fibre_attr_t *attr, fibre_start_t start, void *argument);

/*
 `pthread_detach`: nobody will ask for the fibre's end. `ESRCH` if there is no such fibre,
 `EINVAL` if it is detached or being joined.
 */
int fibre_detach(fibre_t thread);

/*
 Writes all fibres that have started to a descriptor, as text: what each does or waits for, who
 has that, and its stack. A SIGQUIT does the same, to standard error or the file that
 `FIBRE_DUMP` names, unless the program handles that signal or `FIBRE_QUIT` says otherwise.
 Returns how many fibres there are, whether they could be written or not; zero in a forked child.
 Blocks the fibre, and its kernel thread while it writes.
 */
int fibre_dump(int descriptor);

/*
 `dup`.
 */
int fibre_dup(int fd);

/*
 `dup2`: [`fibre_dup3`] without flags, that leaves equal numbers as they are.
 */
int fibre_dup2(int fd, int place);

/*
 `dup3`: a duplicate with this number, which is closed before as by [`fibre_close`].
 */
int fibre_dup3(int fd, int place, int flags);

/*
 `epoll_pwait`: the same. A fibre has the mask meanwhile; only what it has raised
 itself interrupts it. A cancellation point.
 */
int fibre_epoll_pwait(int instance,
                      struct epoll_event *events,
                      int room,
                      int timeout,
                      const sigset_t *signals);

/*
 `epoll_pwait2`: the same with a time-out in nanoseconds, `NULL` for none. A cancellation point.
 */
int fibre_epoll_pwait2(int instance,
                       struct epoll_event *events,
                       int room,
                       const struct timespec *timeout,
                       const sigset_t *signals);

/*
 `epoll_wait`: with a time-out in milliseconds, a negative one for none. A cancellation point.
 */
int fibre_epoll_wait(int instance, struct epoll_event *events, int room, int timeout);

/*
 `pthread_equal`: whether two handles are of the same fibre.
 */
int fibre_equal(fibre_t one, fibre_t other);

/*
 Where the error number of the calling fibre is until its next call of this library; what `errno`
 stands for in programs that include the header.
 */
int *fibre_errno_location(void);

/*
 `eventfd`: a counter.
 */
int fibre_eventfd(unsigned int count, int flags);

/*
 `execv`: [`fibre_execve`] with this program's environment.
 */
int fibre_execv(const char *path, char *const *words);

/*
 `execve`: the program that takes this one's place blocks the signals that the caller blocks.
 */
int fibre_execve(const char *path, char *const *words, char *const *environment);

/*
 `execvp`: [`fibre_execv`] of a program that is looked for where `PATH` says.
 */
int fibre_execvp(const char *name, char *const *words);

/*
 `execvpe`: [`fibre_execve`] of a program that is looked for where `PATH` says.
 */
int fibre_execvpe(const char *name, char *const *words, char *const *environment);

/*
 `pthread_exit`: ends the calling fibre with a result, after its cleanup handlers and before its
 keys' destructors. In the main thread, lets all fibres run to their ends, and then ends the
 process with status 0; in a forked child, does so at once. In a handler of a signal that the
 fibre has raised itself, ends the fibre; in one that runs on a thread of the library, or serves
 `main`, ends the process by SIGABRT.
 */
void fibre_exit(void *result);

/*
 `fallocate`: room for a part of a file, or a hole in it. Blocks the fibre.
 */
int fibre_fallocate(int fd, int mode, off_t offset, off_t length);

/*
 `fclose`: as [`fibre_close`](super::numbers) for the descriptor. What has not been written yet
 is written first, which blocks the thread.
 */
int fibre_fclose(FILE *stream);

/*
 `fcntl`, whose third argument may be a number or a pointer. Waiting for a lock (`F_SETLKW`,
 `F_OFD_SETLKW`) blocks the fibre, and is a cancellation point.
 */
int fibre_fcntl(int fd, int command, unsigned long argument);

/*
 Waits until something of `events` (`POLLIN`, `POLLOUT`, `POLLPRI`, `POLLRDHUP`) is the case with
 a descriptor, or an error or hang-up, and returns what is, as `poll` has it; 0 once the
 monotonic clock shows `*deadline`. Without a deadline (`NULL`) it waits for ever, and with one
 that has passed, it looks. -1 and `EBADF` for what is no descriptor, or is closed meanwhile
 ([`fibre_close`](super::numbers)); `EINVAL` for what is no time. A cancellation point.

 It is made for descriptors that are non-blocking, and read and written in any way. A program
 that reads by this library's calls makes no system call for a wait that follows a read which
 took all there was.
 */
int fibre_fd_wait(int fd, int events, const struct timespec *deadline);

/*
 `fdatasync`. A cancellation point before it begins.
 */
int fibre_fdatasync(int fd);

/*
 `feclearexcept`: forgets that these exceptions have been raised. -1 if there is no memory to
 keep the environment.
 */
int fibre_feclearexcept(int exceptions);

/*
 `fedisableexcept`: has these exceptions trap no more; returns those that did. -1 if there is no
 memory to keep the environment.
 */
int fibre_fedisableexcept(int exceptions);

/*
 `feenableexcept`: has these exceptions trap; returns those that did. -1 if there is no memory to
 keep the environment.
 */
int fibre_feenableexcept(int exceptions);

/*
 `feholdexcept`: keeps the environment, and goes on with one in which nothing has been raised and
 nothing traps. -1 if there is no memory to keep the environment.
 */
int fibre_feholdexcept(void *environment);

/*
 `feraiseexcept`: raises these exceptions. -1 if there is no memory to keep the environment.
 */
int fibre_feraiseexcept(int exceptions);

/*
 `fesetenv`: sets the environment. -1 if there is no memory to keep the environment.
 */
int fibre_fesetenv(const void *environment);

/*
 `fesetexcept`: notes that these exceptions have been raised, and traps none. -1 if there is no
 memory to keep the environment.
 */
int fibre_fesetexcept(int exceptions);

/*
 `fesetexceptflag`: notes whether these exceptions have been raised, as kept in `flags`. -1 if
 there is no memory to keep the environment.
 */
int fibre_fesetexceptflag(const void *flags, int exceptions);

/*
 `fesetmode`: sets what says how to compute. -1 if there is no memory to keep the environment.
 */
int fibre_fesetmode(const void *modes);

/*
 `fesetround`: sets the rounding mode. -1 if there is no memory to keep the environment.
 */
int fibre_fesetround(int rounding);

/*
 `fetestexcept`: which of these exceptions have been raised.
 */
int fibre_fetestexcept(int exceptions);

/*
 `feupdateenv`: sets the environment, and raises what has been raised until now. -1 if there is
 no memory to keep the environment.
 */
int fibre_feupdateenv(const void *environment);

/*
 `fexecve`: [`fibre_execve`] of the program that is open.
 */
int fibre_fexecve(int fd, char *const *words, char *const *environment);

/*
 Waits until all fibres have ended. The processors of the default cluster stay, asleep. Blocks
 the thread; `EDEADLK` in a fibre.
 */
int fibre_finalise(void);

/*
 `flock`: waits for the lock of a file, unless `LOCK_NB` says otherwise.
 */
int fibre_flock(int fd, int operation);

/*
 `fork`: the child, which has this fibre only, blocks what the fibre does.
 */
pid_t fibre_fork(void);

/*
 `fsync`. A cancellation point before it begins.
 */
int fibre_fsync(int fd);

/*
 `getaddrinfo`. Blocks the fibre.
 */
int fibre_getaddrinfo(const char *node,
                      const char *service,
                      const struct addrinfo *hints,
                      struct addrinfo **result);

/*
 `pthread_getaffinity_np`: the processors that the fibre's attributes or its creator's let it run
 on; or else those that the caller's cluster has, or the default one; as bits of a set of CPUs,
 so without those beyond the CPUs of the machine. `EINVAL` if there is no room for them, `ESRCH`
 if there is no such fibre.
 */
int fibre_getaffinity(fibre_t thread, size_t size, void *set);

/*
 `pthread_getattr_np`: the attributes of a fibre, or of a plain thread. Where the stack lies is
 known of the caller and of plain threads; of other fibres it is null, with the size that stacks
 have. `ESRCH` if there is no such fibre.
 */
int fibre_getattr(fibre_t thread, struct fibre_attr_t *attr);

/*
 `pthread_getattr_default_np`: what fibres are without attributes.
 */
int fibre_getattr_default(struct fibre_attr_t *attr);

/*
 `pthread_getconcurrency`: what has been set, or zero.
 */
int fibre_getconcurrency(void);

/*
 `pthread_getcpuclockid`: fibres have no clocks of their own: `ENOENT`, as POSIX has it; `ESRCH`
 if there is no such fibre, or it has ended.
 */
int fibre_getcpuclockid(fibre_t thread, clockid_t *_clock);

/*
 `getgrgid`. Blocks the fibre.
 */
struct group *fibre_getgrgid(gid_t group);

/*
 `getgrgid_r`: into the caller's memory. Blocks the fibre.
 */
int fibre_getgrgid_r(gid_t group, struct group *found, char *room, size_t length, struct group **result);

/*
 `getgrnam`. Blocks the fibre.
 */
struct group *fibre_getgrnam(const char *name);

/*
 `getgrnam_r`: into the caller's memory. Blocks the fibre.
 */
int fibre_getgrnam_r(const char *name, struct group *found, char *room, size_t length, struct group **result);

/*
 `gethostbyaddr`: as [`fibre_gethostbyname`].
 */
struct hostent *fibre_gethostbyaddr(const void *address, socklen_t length, int family);

/*
 `gethostbyaddr_r`: into the caller's memory. Blocks the fibre.
 */
int fibre_gethostbyaddr_r(const void *address,
                          socklen_t address_length,
                          int family,
                          struct hostent *found,
                          char *room,
                          size_t length,
                          struct hostent **result,
                          int *error);

/*
 `gethostbyname`: into memory that the next such call of any fibre uses again. Blocks the fibre.
 */
struct hostent *fibre_gethostbyname(const char *name);

/*
 `gethostbyname2`: [`fibre_gethostbyname`] for a family of addresses.
 */
struct hostent *fibre_gethostbyname2(const char *name, int family);

/*
 `gethostbyname2_r`: [`fibre_gethostbyname_r`] for a family of addresses.
 */
int fibre_gethostbyname2_r(const char *name,
                           int family,
                           struct hostent *found,
                           char *room,
                           size_t length,
                           struct hostent **result,
                           int *error);

/*
 `gethostbyname_r`: into the caller's memory. Blocks the fibre.
 */
int fibre_gethostbyname_r(const char *name,
                          struct hostent *found,
                          char *room,
                          size_t length,
                          struct hostent **result,
                          int *error);

/*
 `pthread_getname_np`: the name; `ERANGE` if there is no room for 16 bytes, however short it is.
 `ESRCH` if there is no such fibre.
 */
int fibre_getname(fibre_t thread, char *name, size_t size);

/*
 `getnameinfo`. Blocks the fibre.
 */
int fibre_getnameinfo(const struct sockaddr *address,
                      socklen_t length,
                      char *host,
                      socklen_t host_room,
                      char *service,
                      socklen_t service_room,
                      int flags);

/*
 `getpwnam`. Blocks the fibre.
 */
struct passwd *fibre_getpwnam(const char *name);

/*
 `getpwnam_r`: into the caller's memory. Blocks the fibre.
 */
int fibre_getpwnam_r(const char *name,
                     struct passwd *found,
                     char *room,
                     size_t length,
                     struct passwd **result);

/*
 `getpwuid`. Blocks the fibre.
 */
struct passwd *fibre_getpwuid(uid_t user);

/*
 `getpwuid_r`: into the caller's memory. Blocks the fibre.
 */
int fibre_getpwuid_r(uid_t user, struct passwd *found, char *room, size_t length, struct passwd **result);

/*
 `pthread_getschedparam`: what the fibre was created with, or what has been set since. `ESRCH` if
 there is no such fibre.
 */
int fibre_getschedparam(fibre_t thread, int *policy, struct sched_param *param);

/*
 `getservbyname`. Blocks the fibre.
 */
struct servent *fibre_getservbyname(const char *name, const char *protocol);

/*
 `getservbyname_r`: into the caller's memory. Blocks the fibre.
 */
int fibre_getservbyname_r(const char *name,
                          const char *protocol,
                          struct servent *found,
                          char *room,
                          size_t length,
                          struct servent **result);

/*
 `getservbyport`. Blocks the fibre.
 */
struct servent *fibre_getservbyport(int port, const char *protocol);

/*
 `getservbyport_r`: into the caller's memory. Blocks the fibre.
 */
int fibre_getservbyport_r(int port,
                          const char *protocol,
                          struct servent *found,
                          char *room,
                          size_t length,
                          struct servent **result);

/*
 `pthread_getspecific`: the caller's value; null if it has none, or if there is no such key.
 */
void *fibre_getspecific(fibre_key_t key);

/*
 Where the `h_errno` of the calling fibre is, as long as that runs; what `h_errno` stands for in
 mapped programs.
 */
int *fibre_h_errno_location(void);

/*
 The number of the calling fibre or thread: unique in the process, never reused.
 */
uint64_t fibre_id(void);

/*
 Starts the default cluster, in which fibres live whose creators are no fibres. Without this call
 the first creation does so, with the defaults. Null for these. `EBUSY` if it has been started,
 `EINVAL` for a configuration that makes no sense, `EAGAIN` if threads cannot be started.
 */
int fibre_init(const struct fibre_config_t *config);

/*
 `ioctl`, whose third argument may be a number or a pointer. Blocks the thread if the device
 does.
 */
int fibre_ioctl(int fd, unsigned long request, unsigned long argument);

/*
 Whether the caller is a fibre: 1, or 0.
 */
int fibre_is_fibre(void);

/*
 `pthread_join`: waits for a fibre's end, and has its result. `ESRCH` if there is no such fibre,
 `EINVAL` if it is detached or being joined, `EDEADLK` if it is the caller or waits for the
 caller; `EAGAIN` if it never ran, as there was no stack for it. A cancellation point.
 */
int fibre_join(fibre_t thread, void **result);

/*
 `pthread_key_create`: a new key, whose values are null. When a fibre ends, the destructor is
 called with its value, if that is not null; up to four times over, if destructors set values
 again. `ENOMEM` if there is no memory for it; `EAGAIN` is never returned.
 */
int fibre_key_create(fibre_key_t *key, fibre_routine_t destructor);

/*
 `pthread_key_delete`: nobody has a value of it any more, and no destructor is called. `EINVAL`
 if there is no such key.
 */
int fibre_key_delete(fibre_key_t key);

/*
 `pthread_kill`: sends a signal to the caller, as [`fibre_raise`], or to the process of another
 fibre that there is; zero only looks for the fibre. No call of the fibre is interrupted. `ESRCH`
 if there is no such fibre, `EINVAL` for no signal.
 */
int fibre_kill(fibre_t thread, int signal);

/*
 Gives the calling fibre a label, a key and a value: dumps, gdb, and the report of a stack
 overflow show it beside the fibre's name. A later label with the same key takes its place; a
 null pointer or an empty text takes it away. The labels of a fibre have room for 240 bytes
 together; what is beyond is cut off. The first one allocates memory, which is freed with the
 fibre; without memory the process ends. Bytes that are not UTF-8 are replaced. Does nothing on a
 plain thread.
 */
void fibre_label(const char *key, const char *value);

/*
 `lockf`: waits for the lock of a part of a file (`F_LOCK`) by a thread of its own. Then a
 cancellation point.
 */
int fibre_lockf(int fd, int operation, off_t length);

/*
 Writes the metrics of the process to a descriptor, as OpenMetrics text, which Prometheus reads:
 what its processors have done so far, how many fibres live, run and wait. `FIBRE_METRICS` serves
 the same text over HTTP. Returns its length in bytes, whether it could be written or not. Blocks
 the fibre for some 200 µs, or 10 ms if another fibre keeps a processor, and its kernel thread
 while it writes.
 */
int fibre_metrics(int descriptor);

/*
 Moves the calling fibre to a cluster; null is the default one. `ENOTSUP` if the caller is no
 fibre, or stays on a processor.
 */
int fibre_migrate(const struct fibre_cluster_t *cluster);

/*
 `mq_receive`: [`fibre_mq_timedreceive`] for as long as it takes.
 */
ptrdiff_t fibre_mq_receive(int queue, char *message, size_t room, unsigned int *priority);

/*
 `mq_send`: [`fibre_mq_timedsend`] for as long as it takes.
 */
int fibre_mq_send(int queue, const char *message, size_t length, unsigned int priority);

/*
 `mq_timedreceive`: waits for a message until then at most, unless the queue is non-blocking. A
 cancellation point.
 */
ptrdiff_t fibre_mq_timedreceive(int queue,
                                char *message,
                                size_t room,
                                unsigned int *priority,
                                const struct timespec *deadline);

/*
 `mq_timedsend`: waits for room until then at most, unless the queue is non-blocking. A
 cancellation point.
 */
int fibre_mq_timedsend(int queue,
                       const char *message,
                       size_t length,
                       unsigned int priority,
                       const struct timespec *deadline);

/*
 `msgrcv`: waits for a message, unless `IPC_NOWAIT` says otherwise. A cancellation point.
 */
ptrdiff_t fibre_msgrcv(int queue, void *message, size_t room, long kind, int flags);

/*
 `msgsnd`: waits for room, unless `IPC_NOWAIT` says otherwise. A cancellation point.
 */
int fibre_msgsnd(int queue, const void *message, size_t length, int flags);

/*
 `msync`: mapped memory. A cancellation point before it begins.
 */
int fibre_msync(void *start, size_t length, int flags);

/*
 `pthread_mutex_clocklock`: the same by this clock, which is `CLOCK_REALTIME` or
 `CLOCK_MONOTONIC`; else `EINVAL`.
 */
int fibre_mutex_clocklock(struct fibre_mutex_t *mutex,
                          clockid_t clock_number,
                          const struct timespec *deadline);

/*
 `pthread_mutex_consistent`: what a robust mutex guards is in order again. `EINVAL` if it is not
 robust, or its owner has not died.
 */
int fibre_mutex_consistent(struct fibre_mutex_t *mutex);

/*
 `pthread_mutex_destroy`. `EBUSY` if somebody has it or waits for a condition with it, `EINVAL`
 if it has been destroyed.
 */
int fibre_mutex_destroy(struct fibre_mutex_t *mutex);

/*
 `pthread_mutex_getprioceiling`: `EINVAL`, as no mutex has one.
 */
int fibre_mutex_getprioceiling(const struct fibre_mutex_t *_mutex, int *_ceiling);

/*
 `pthread_mutex_init`: a free mutex. `EINVAL` for attributes that have been destroyed; `ENOTSUP`
 for a variant of one that processes share, or that is robust.
 */
int fibre_mutex_init(struct fibre_mutex_t *mutex, const struct fibre_mutexattr_t *attributes);

/*
 `pthread_mutex_lock`: waits until it is the caller's. `EDEADLK` if it is already, and the kind
 checks that; `EAGAIN` if it is recursive and has been locked too often; `EINVAL` if it has been
 destroyed.
 */
int fibre_mutex_lock(struct fibre_mutex_t *mutex);

/*
 `pthread_mutex_setprioceiling`: `EINVAL`, as no mutex has one.
 */
int fibre_mutex_setprioceiling(struct fibre_mutex_t *_mutex, int _ceiling, int *_old);

/*
 `pthread_mutex_timedlock`: waits until the clock of real time shows `deadline`, at most.
 `ETIMEDOUT`; `EINVAL` if that is no time and the mutex is not free; else as
 [`fibre_mutex_lock`].
 */
int fibre_mutex_timedlock(struct fibre_mutex_t *mutex, const struct timespec *deadline);

/*
 `pthread_mutex_trylock`. `EBUSY` if it is not free.
 */
int fibre_mutex_trylock(struct fibre_mutex_t *mutex);

/*
 `pthread_mutex_unlock`. `EPERM` if it is not the caller's, and the kind checks that.
 */
int fibre_mutex_unlock(struct fibre_mutex_t *mutex);

/*
 `pthread_mutexattr_destroy`: they are of no use any more.
 */
int fibre_mutexattr_destroy(struct fibre_mutexattr_t *attributes);

/*
 `pthread_mutexattr_getprioceiling`: `ENOTSUP`.
 */
int fibre_mutexattr_getprioceiling(const struct fibre_mutexattr_t *_attributes, int *_ceiling);

/*
 `pthread_mutexattr_getprotocol`: `PTHREAD_PRIO_NONE`.
 */
int fibre_mutexattr_getprotocol(const struct fibre_mutexattr_t *attributes, int *value);

/*
 `pthread_mutexattr_getpshared`: whether processes share the mutex.
 */
int fibre_mutexattr_getpshared(const struct fibre_mutexattr_t *attributes, int *value);

/*
 `pthread_mutexattr_getrobust`: whether the mutex is robust.
 */
int fibre_mutexattr_getrobust(const struct fibre_mutexattr_t *attributes, int *value);

/*
 `pthread_mutexattr_gettype`: the kind.
 */
int fibre_mutexattr_gettype(const struct fibre_mutexattr_t *attributes, int *kind);

/*
 Which lock a mutex is made of.
 */
int fibre_mutexattr_getvariant(const struct fibre_mutexattr_t *attributes, int *variant);

/*
 `pthread_mutexattr_init`: attributes of the default kind and variant.
 */
int fibre_mutexattr_init(struct fibre_mutexattr_t *attributes);

/*
 `pthread_mutexattr_setprioceiling`: `ENOTSUP`.
 */
int fibre_mutexattr_setprioceiling(struct fibre_mutexattr_t *_attributes, int _ceiling);

/*
 `pthread_mutexattr_setprotocol`: `ENOTSUP` for `PTHREAD_PRIO_INHERIT` and
 `PTHREAD_PRIO_PROTECT`.
 */
int fibre_mutexattr_setprotocol(struct fibre_mutexattr_t *attributes, int value);

/*
 `pthread_mutexattr_setpshared`: `PTHREAD_PROCESS_SHARED` for a mutex of the system's, which
 processes share; else `PTHREAD_PROCESS_PRIVATE`. `EINVAL` for another value, `ENOTSUP` if the
 system's library is one that we do not know.
 */
int fibre_mutexattr_setpshared(struct fibre_mutexattr_t *attributes, int value);

/*
 `pthread_mutexattr_setrobust`: `PTHREAD_MUTEX_ROBUST` for a mutex of the system's that tells the
 next owner if one has ended with it; else `PTHREAD_MUTEX_STALLED`. Errors as for
 `fibre_mutexattr_setpshared`.
 */
int fibre_mutexattr_setrobust(struct fibre_mutexattr_t *attributes, int value);

/*
 `pthread_mutexattr_settype`: a kind. `EINVAL` if there is none with this number.
 */
int fibre_mutexattr_settype(struct fibre_mutexattr_t *attributes, int kind);

/*
 Chooses the lock that a mutex is made of, by a constant of the header: `HYBRID` (default: spins
 for a moment, then blocks; is freed for whoever comes first, but handed to who starves),
 `BARGING` (blocks at once), `SPIN_THEN_BLOCK`, `BATON` (first come, first served), `EXCHANGE`
 (the same, and the next one runs at once in the caller's place), `SPIN` (never blocks). `EINVAL`
 for another number.
 */
int fibre_mutexattr_setvariant(struct fibre_mutexattr_t *attributes, int variant);

/*
 `nanosleep`: -1 and `EINVAL` if `time` is invalid, `EFAULT` if it is not there. What would
 remain is not written, as fibres are not interrupted.
 */
int fibre_nanosleep(const struct timespec *time, struct timespec *remaining);

/*
 `pthread_once`: calls `routine`, unless that has been done, and returns when it has been done,
 by whomever. If the one that does it ends in it, is cancelled, or throws an exception, it has
 not been done, and the next one does it. `EDEADLK` if the caller is in it already.
 */
int fibre_once(struct fibre_once_t *once, void (*routine)(void));

/*
 `open`: [`fibre_openat`] from the current directory.
 */
int fibre_open(const char *path, int flags, unsigned int mode);

/*
 `openat`. Opening a named pipe waits for its other end, unless that is to be non-blocking. A
 cancellation point before it begins.
 */
int fibre_openat(int directory, const char *path, int flags, unsigned int mode);

/*
 Waits until another one calls `fibre_unpark` for the caller, or returns at once if one has done
 so since the last time; now and then it returns without that. A cancellation point.
 */
int fibre_park(void);

/*
 `fibre_park` until a moment of a clock: `CLOCK_REALTIME` or `CLOCK_MONOTONIC`. `ETIMEDOUT`;
 `EINVAL` for another clock, or an invalid time.
 */
int fibre_park_until(clockid_t clock, const struct timespec *deadline);

/*
 `pclose`: closes the stream and waits for the command's end. Blocks the fibre.
 */
int fibre_pclose(FILE *stream);

/*
 `pipe`.
 */
int fibre_pipe(int *ends);

/*
 `pipe2`.
 */
int fibre_pipe2(int *ends, int flags);

/*
 `poll`: with a time-out in milliseconds, a negative one for none. A cancellation point.
 */
int fibre_poll(struct pollfd *fds, nfds_t count, int timeout);

/*
 `poll` of a program that was built with `_FORTIFY_SOURCE`: ends the process if there is no room.
 */
int fibre_poll_chk(struct pollfd *fds, nfds_t count, int timeout, size_t room);

/*
 `popen`: starts a command, and is a stream to or from it, which blocks the thread as others do.
 Blocks the fibre.
 */
FILE *fibre_popen(const char *command, const char *mode);

/*
 `posix_fallocate`: room for a part of a file; returns an error number. Blocks the fibre.
 */
int fibre_posix_fallocate(int fd, off_t offset, off_t length);

/*
 `posix_spawn`: the program blocks the signals that the caller blocks, unless the attributes say
 which. Blocks the fibre.
 */
int fibre_posix_spawn(pid_t *pid,
                      const char *path,
                      const posix_spawn_file_actions_t *actions,
                      const posix_spawnattr_t *attributes,
                      char *const *words,
                      char *const *environment);

/*
 `posix_spawnp`: [`fibre_posix_spawn`] of a program that is looked for where `PATH` says.
 */
int fibre_posix_spawnp(pid_t *pid,
                       const char *name,
                       const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes,
                       char *const *words,
                       char *const *environment);

/*
 `ppoll`: with a time-out, `NULL` for none. A fibre has the mask meanwhile; only what it has
 raised itself interrupts it. A cancellation point.
 */
int fibre_ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *signals);

/*
 `ppoll` of such a program.
 */
int fibre_ppoll_chk(struct pollfd *fds,
                    nfds_t count,
                    const struct timespec *timeout,
                    const sigset_t *signals,
                    size_t room);

/*
 `pread`: from a place of a file, whose position stays. A cancellation point.
 */
ptrdiff_t fibre_pread(int fd, void *bytes, size_t count, off_t offset);

/*
 `pread` of such a program.
 */
ptrdiff_t fibre_pread_chk(int fd, void *bytes, size_t count, off_t offset, size_t room);

/*
 `preadv`: [`fibre_pread`] into several buffers.
 */
ptrdiff_t fibre_preadv(int fd, const struct iovec *buffers, int count, off_t offset);

/*
 `preadv2`: [`fibre_preadv`] with flags; from the descriptor's own position if the offset is -1.
 */
ptrdiff_t fibre_preadv2(int fd, const struct iovec *buffers, int count, off_t offset, int flags);

/*
 The number of the processor that the calling fibre is on, within its cluster; -1 on a plain
 thread.
 */
int fibre_processor(void);

/*
 `pselect`: with a time-out, `NULL` for none. A fibre has the mask meanwhile; only what it has
 raised itself interrupts it. A cancellation point.
 */
int fibre_pselect(int count,
                  fd_set *readable,
                  fd_set *writable,
                  fd_set *urgent,
                  const struct timespec *timeout,
                  const sigset_t *signals);

/*
 `pwrite`: to a place of a file, whose position stays. A cancellation point.
 */
ptrdiff_t fibre_pwrite(int fd, const void *bytes, size_t count, off_t offset);

/*
 `pwritev`: [`fibre_pwrite`] from several buffers.
 */
ptrdiff_t fibre_pwritev(int fd, const struct iovec *buffers, int count, off_t offset);

/*
 `pwritev2`: [`fibre_pwritev`] with flags; to the descriptor's own position if the offset is -1.
 */
ptrdiff_t fibre_pwritev2(int fd, const struct iovec *buffers, int count, off_t offset, int flags);

/*
 `raise`: sends a signal to the calling fibre or thread; if it has a handler, that has run when
 this returns. -1 and `EINVAL` for no signal. What a fibre blocks
 ([`fibre_sigmask`](crate::sigmask::fibre_sigmask)) is pending then, once.
 */
int fibre_raise(int signal);

/*
 `read`: as many bytes as there are, at least one unless it is the end; waits for these. A
 cancellation point.
 */
ptrdiff_t fibre_read(int fd, void *bytes, size_t count);

/*
 `read` of a program that was built with `_FORTIFY_SOURCE`: ends the process if there is no room.
 */
ptrdiff_t fibre_read_chk(int fd, void *bytes, size_t count, size_t room);

/*
 `readv`: [`fibre_read`] into several buffers.
 */
ptrdiff_t fibre_readv(int fd, const struct iovec *buffers, int count);

/*
 `recv`: [`fibre_recvfrom`] that does not ask from whom.
 */
ptrdiff_t fibre_recv(int fd, void *bytes, size_t count, int flags);

/*
 `recv` of a program that was built with `_FORTIFY_SOURCE`: ends the process if there is no room.
 */
ptrdiff_t fibre_recv_chk(int fd, void *bytes, size_t count, size_t room, int flags);

/*
 `recvfrom`: a message, or what there is of a stream, or all that was asked for with
 `MSG_WAITALL`; waits for it unless the socket or the call is non-blocking. A cancellation point.
 */
ptrdiff_t fibre_recvfrom(int fd,
                         void *bytes,
                         size_t count,
                         int flags,
                         struct sockaddr *address,
                         socklen_t *length);

/*
 `recvfrom` of such a program.
 */
ptrdiff_t fibre_recvfrom_chk(int fd,
                             void *bytes,
                             size_t count,
                             size_t room,
                             int flags,
                             struct sockaddr *address,
                             socklen_t *length);

/*
 `recvmmsg`: several messages, as many as were asked for unless time is over after one, or only
 the first is waited for (`MSG_WAITFORONE`); says how many.
 */
int fibre_recvmmsg(int fd, struct mmsghdr *messages, unsigned int count, int flags, struct timespec *timeout);

/*
 `recvmsg`: [`fibre_recvfrom`] into several buffers, with what comes along.
 */
ptrdiff_t fibre_recvmsg(int fd, struct msghdr *message, int flags);

/*
 `pthread_rwlock_clockrdlock`: the same by this clock, which is `CLOCK_REALTIME` or
 `CLOCK_MONOTONIC`; else `EINVAL`.
 */
int fibre_rwlock_clockrdlock(struct fibre_rwlock_t *lock,
                             clockid_t clock_number,
                             const struct timespec *deadline);

/*
 `pthread_rwlock_clockwrlock`: the same by this clock, which is `CLOCK_REALTIME` or
 `CLOCK_MONOTONIC`; else `EINVAL`.
 */
int fibre_rwlock_clockwrlock(struct fibre_rwlock_t *lock,
                             clockid_t clock_number,
                             const struct timespec *deadline);

/*
 `pthread_rwlock_destroy`. `EBUSY` if somebody has it or waits for it, `EINVAL` if it has been
 destroyed.
 */
int fibre_rwlock_destroy(struct fibre_rwlock_t *lock);

/*
 `pthread_rwlock_init`: a free one. `EINVAL` for attributes that have been destroyed.
 */
int fibre_rwlock_init(struct fibre_rwlock_t *lock, const struct fibre_rwlockattr_t *attributes);

/*
 `pthread_rwlock_rdlock`: waits until the caller may read. `EDEADLK` if it writes, `EAGAIN` with
 too many readers, `EINVAL` if it has been destroyed.
 */
int fibre_rwlock_rdlock(struct fibre_rwlock_t *lock);

/*
 `pthread_rwlock_timedrdlock`: waits until the clock of real time shows `deadline`, at most.
 `ETIMEDOUT`; `EINVAL` if that is no time; else as [`fibre_rwlock_rdlock`].
 */
int fibre_rwlock_timedrdlock(struct fibre_rwlock_t *lock, const struct timespec *deadline);

/*
 `pthread_rwlock_timedwrlock`: waits until the clock of real time shows `deadline`, at most.
 `ETIMEDOUT`; `EINVAL` if that is no time; else as [`fibre_rwlock_wrlock`].
 */
int fibre_rwlock_timedwrlock(struct fibre_rwlock_t *lock, const struct timespec *deadline);

/*
 `pthread_rwlock_tryrdlock`. `EBUSY` if one cannot read at once.
 */
int fibre_rwlock_tryrdlock(struct fibre_rwlock_t *lock);

/*
 `pthread_rwlock_trywrlock`. `EBUSY` if it is not free.
 */
int fibre_rwlock_trywrlock(struct fibre_rwlock_t *lock);

/*
 `pthread_rwlock_unlock`: gives back what the caller has. `EPERM` if nobody has it, or somebody
 else writes.
 */
int fibre_rwlock_unlock(struct fibre_rwlock_t *lock);

/*
 `pthread_rwlock_wrlock`: waits until the caller may write. `EDEADLK` if it does already,
 `EINVAL` if it has been destroyed.
 */
int fibre_rwlock_wrlock(struct fibre_rwlock_t *lock);

/*
 `pthread_rwlockattr_destroy`: they are of no use any more.
 */
int fibre_rwlockattr_destroy(struct fibre_rwlockattr_t *attributes);

/*
 `pthread_rwlockattr_getkind_np`: who goes first if readers come while a writer waits.
 */
int fibre_rwlockattr_getkind(const struct fibre_rwlockattr_t *attributes, int *kind);

/*
 `pthread_rwlockattr_getpshared`: whether processes share the lock.
 */
int fibre_rwlockattr_getpshared(const struct fibre_rwlockattr_t *attributes, int *value);

/*
 `pthread_rwlockattr_init`: attributes of the default kind.
 */
int fibre_rwlockattr_init(struct fibre_rwlockattr_t *attributes);

/*
 `pthread_rwlockattr_setkind_np`: `PTHREAD_RWLOCK_PREFER_READER_NP` (default) and
 `PTHREAD_RWLOCK_PREFER_WRITER_NP`: readers, if others read already;
 `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`: who has waited longer, so that nobody starves.
 `EINVAL` for another number.
 */
int fibre_rwlockattr_setkind(struct fibre_rwlockattr_t *attributes, int kind);

/*
 `pthread_rwlockattr_setpshared`: `PTHREAD_PROCESS_SHARED` for a lock of the system's, which
 processes share; else `PTHREAD_PROCESS_PRIVATE`. Errors as for `fibre_mutexattr_setpshared`.
 */
int fibre_rwlockattr_setpshared(struct fibre_rwlockattr_t *attributes, int value);

/*
 `select`: with a time-out, of which what is left is written back, `NULL` for none. A
 cancellation point.
 */
int fibre_select(int count, fd_set *readable, fd_set *writable, fd_set *urgent, struct timeval *timeout);

/*
 `pthread_self`: the caller's handle. Threads that are no fibres have one, too.
 */
fibre_t fibre_self(void);

/*
 `sem_clockwait`: the same by this clock, which is `CLOCK_REALTIME` or `CLOCK_MONOTONIC`; else
 `EINVAL`.
 */
int fibre_sem_clockwait(struct fibre_sem_t *semaphore,
                        clockid_t clock_number,
                        const struct timespec *deadline);

/*
 `sem_close`: ends the use of a semaphore with a name. `EINVAL` if it is none.
 */
int fibre_sem_close(struct fibre_sem_t *semaphore);

/*
 `sem_destroy`. `EBUSY` if somebody waits, `EINVAL` if it has been destroyed.
 */
int fibre_sem_destroy(struct fibre_sem_t *semaphore);

/*
 `sem_getvalue`: how many permits there are; none while somebody waits.
 */
int fibre_sem_getvalue(struct fibre_sem_t *semaphore, int *value);

/*
 `sem_init`: one with so many permits. `EINVAL` if that is more than `SEM_VALUE_MAX`; one that
 processes share is one of the system's: `ENOSYS` if its library is one that we do not know.
 */
int fibre_sem_init(struct fibre_sem_t *semaphore, int shared, unsigned int permits);

/*
 `sem_post`: brings a permit. `EOVERFLOW` if there are `SEM_VALUE_MAX`, `EINVAL` if it has been
 destroyed. Signal handlers may call it on threads of the program.
 */
int fibre_sem_post(struct fibre_sem_t *semaphore);

/*
 `sem_timedwait`: waits until the clock of real time shows `deadline`, at most. `ETIMEDOUT`;
 `EINVAL` if that is no time; else as [`fibre_sem_wait`].
 */
int fibre_sem_timedwait(struct fibre_sem_t *semaphore, const struct timespec *deadline);

/*
 `sem_trywait`. `EAGAIN` if there is no permit.
 */
int fibre_sem_trywait(struct fibre_sem_t *semaphore);

/*
 `sem_unlink`: takes a semaphore's name away.
 */
int fibre_sem_unlink(const char *name);

/*
 `sem_wait`: waits for a permit and takes it; first come, first served. `EINVAL` if it has been
 destroyed. A cancellation point.
 */
int fibre_sem_wait(struct fibre_sem_t *semaphore);

/*
 `semop`: [`fibre_semtimedop`] for as long as it takes.
 */
int fibre_semop(int set, struct sembuf *operations, size_t count);

/*
 `semtimedop`: waits until it can do all operations, for so long at most. No cancellation point.
 */
int fibre_semtimedop(int set, struct sembuf *operations, size_t count, const struct timespec *time_out);

/*
 `send`: [`fibre_sendto`] to the peer.
 */
ptrdiff_t fibre_send(int fd, const void *bytes, size_t count, int flags);

/*
 `sendfile`: from a file to anything, whose room it waits for unless that is non-blocking. A
 cancellation point.

 In a fibre the bytes go through a buffer of 64 KiB.
 */
ptrdiff_t fibre_sendfile(int out, int file, off_t *offset, size_t count);

/*
 `sendmmsg`: several messages; says how many were sent.
 */
int fibre_sendmmsg(int fd, struct mmsghdr *messages, unsigned int count, int flags);

/*
 `sendmsg`: [`fibre_sendto`] from several buffers, with what goes along.
 */
ptrdiff_t fibre_sendmsg(int fd, const struct msghdr *message, int flags);

/*
 `sendto`: a message, or all bytes of a stream unless the socket or the call is non-blocking;
 waits until there is room. `EPIPE` without SIGPIPE. A cancellation point.
 */
ptrdiff_t fibre_sendto(int fd,
                       const void *bytes,
                       size_t count,
                       int flags,
                       const struct sockaddr *address,
                       socklen_t length);

/*
 `pthread_setaffinity_np`: a fibre that there is cannot be sent to other processors: `ENOTSUP`,
 unless the set has all of those that `fibre_getaffinity` says. `EINVAL` for a set that has no
 CPU of the machine; `ESRCH` if there is no such fibre.
 */
int fibre_setaffinity(fibre_t thread, size_t size, const void *set);

/*
 `pthread_setattr_default_np`: `ENOTSUP`; `fibre_init` and the environment set defaults.
 */
int fibre_setattr_default(const struct fibre_attr_t *_attr);

/*
 `pthread_setcancelstate`: whether the calling fibre is ended if it is cancelled: in this call,
 if it has been and its type is the asynchronous one. `EINVAL` for an unknown state.
 */
int fibre_setcancelstate(int state, int *old);

/*
 `pthread_setcanceltype`: accepts both types. A request that is pending acts in a call that sets
 the asynchronous one; later ones act at cancellation points, with either type. `EINVAL` for
 another type.
 */
int fibre_setcanceltype(int kind, int *old);

/*
 `pthread_setconcurrency`: a hint, which is kept and not followed: `fibre_cluster_add_processors`
 says it better. `EINVAL` below zero.
 */
int fibre_setconcurrency(int level);

/*
 `pthread_setname_np`: up to 15 bytes. The kernel is told of the names of plain threads, and of
 `main`, whether it is a fibre or not: that is the process'. `ERANGE` for a longer name, `ESRCH`
 if there is no such fibre.
 */
int fibre_setname(fibre_t thread, const char *name);

/*
 `pthread_setschedparam`: keeps what a fibre has; a fibre that there is cannot be given another
 priority: `ENOTSUP`. `EINVAL` for an unknown policy, or a priority beyond its range; `ESRCH` if
 there is no such fibre.
 */
int fibre_setschedparam(fibre_t thread, int policy, const struct sched_param *param);

/*
 `pthread_setschedprio`: as `fibre_setschedparam`, with the policy that the fibre has.
 */
int fibre_setschedprio(fibre_t thread, int priority);

/*
 `setsockopt`. Time-outs (`SO_RCVTIMEO`, `SO_SNDTIMEO`) end waits of fibres, too.
 */
int fibre_setsockopt(int fd, int level, int option, const void *value, socklen_t length);

/*
 `pthread_setspecific`: sets the caller's value. `EINVAL` if there is no such key.
 */
int fibre_setspecific(fibre_key_t key, const void *value);

/*
 `shutdown`: ends one direction or both; those who wait there see it.
 */
int fibre_shutdown(int fd, int how);

/*
 `sigblock`: blocks these signals, a bit for each, from the lowest on; returns those that were
 blocked.
 */
int fibre_sigblock(int signals);

/*
 `siggetmask`: which signals are blocked.
 */
int fibre_siggetmask(void);

/*
 `sighold`: blocks a signal. -1 and `EINVAL` for no signal.
 */
int fibre_sighold(int signal);

/*
 `pthread_sigmask`: the mask of the calling fibre or thread. What a fibre has raised and lets in
 now, has been handled when this returns. `EINVAL` if `how` says nothing, `EFAULT` for a set that
 is not there.
 */
int fibre_sigmask(int how, const sigset_t *set, sigset_t *before);

/*
 `sigpending`: the signals that are pending for the process, and those that the calling fibre has
 raised and blocks.
 */
int fibre_sigpending(sigset_t *set);

/*
 `sigprocmask`: [`fibre_sigmask`] that returns -1 and sets the error number.
 */
int fibre_sigprocmask(int how, const sigset_t *set, sigset_t *before);

/*
 `pthread_sigqueue`: `fibre_kill` with a value.
 */
int fibre_sigqueue(fibre_t thread, int signal, union sigval value);

/*
 `sigrelse`: lets a signal in. -1 and `EINVAL` for no signal.
 */
int fibre_sigrelse(int signal);

/*
 `sigset`: has the function called for a signal, which is let in; or, with `SIG_HOLD`, blocks it.
 Returns what was called for it, `SIG_HOLD` if it was blocked, or `SIG_ERR` and `EINVAL` for no
 signal.
 */
fibre_handler_t fibre_sigset(int signal, fibre_handler_t handler);

/*
 `sigsetmask`: blocks these signals and no others; returns those that were blocked.
 */
int fibre_sigsetmask(int signals);

/*
 `sigtimedwait`: [`fibre_sigwaitinfo`], for so long at most, then -1 and `EAGAIN`; `NULL` for no
 limit.
 */
int fibre_sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout);

/*
 `sigwait`: returns an error number. A cancellation point.
 */
int fibre_sigwait(const sigset_t *set, int *signal);

/*
 `sigwaitinfo`: returns the signal. In a fibre it is not interrupted. A cancellation point.
 */
int fibre_sigwaitinfo(const sigset_t *set, siginfo_t *info);

/*
 `sleep`: returns zero, as fibres are not interrupted.
 */
unsigned int fibre_sleep(unsigned int seconds);

/*
 `socket`.
 */
int fibre_socket(int domain, int kind, int protocol);

/*
 `socketpair`.
 */
int fibre_socketpair(int domain, int kind, int protocol, int *pair);

/*
 `pthread_spin_destroy`. `EBUSY` if somebody has it, `EINVAL` if it has been destroyed.
 */
int fibre_spin_destroy(struct fibre_spinlock_t *lock);

/*
 `pthread_spin_init`: a free one. Processes may share it, as nobody sleeps on it, if all of them
 use this library.
 */
int fibre_spin_init(struct fibre_spinlock_t *lock, int _shared);

/*
 `pthread_spin_lock`: tries until it is the caller's; between the tries other fibres run.
 `EINVAL` if it has been destroyed.
 */
int fibre_spin_lock(struct fibre_spinlock_t *lock);

/*
 `pthread_spin_trylock`. `EBUSY` if it is not free.
 */
int fibre_spin_trylock(struct fibre_spinlock_t *lock);

/*
 `pthread_spin_unlock`.
 */
int fibre_spin_unlock(struct fibre_spinlock_t *lock);

/*
 `splice`: waits for the end that is not ready, then makes the call on another thread. A
 cancellation point until then.
 */
ptrdiff_t fibre_splice(int from,
                       int64_t *from_offset,
                       int to,
                       int64_t *to_offset,
                       size_t count,
                       unsigned int flags);

/*
 How many bytes of its stack the calling fibre has used at most; zero on a plain thread. Asks the
 kernel.
 */
size_t fibre_stack_used(void);

/*
 Begins a program whose `main` is to be the first fibre; what `__libc_start_main` in such a
 program calls. `FIBRE_MAIN=0` leaves `main` on its thread.
 */
int fibre_start_main(fibre_main_t program,
                     int argument_count,
                     char **arguments,
                     fibre_hook_t init,
                     fibre_hook_t fini,
                     fibre_hook_t loader_fini,
                     void *stack_end);

/*
 `sync`: all files of all file systems. Blocks the fibre.
 */
void fibre_sync(void);

/*
 `sync_file_range`: a part of a file. Blocks the fibre.
 */
int fibre_sync_file_range(int fd, int64_t offset, int64_t length, unsigned int flags);

/*
 `syncfs`: all files of a file system. Blocks the fibre.
 */
int fibre_syncfs(int fd);

/*
 `system`: runs a command and waits for its end. A cancellation point before it begins.
 */
int fibre_system(const char *command);

/*
 `tcdrain`: waits until a terminal has taken all. A cancellation point before it begins.
 */
int fibre_tcdrain(int fd);

/*
 `tcsetattr`: waits as [`fibre_tcdrain`], unless that is to be `TCSANOW`.
 */
int fibre_tcsetattr(int fd, int when, const struct termios *settings);

/*
 `tee`: copies what is in a pipe into another one; waits for both by a thread of its own. A
 cancellation point before it begins.
 */
ptrdiff_t fibre_tee(int from, int to, size_t count, unsigned int flags);

/*
 `pthread_testcancel`: ends the calling fibre if it has been cancelled.
 */
void fibre_testcancel(void);

/*
 `pthread_timedjoin_np`: `fibre_join` until a moment of `CLOCK_REALTIME`; null for no limit.
 `ETIMEDOUT`; `EINVAL` for a time that is none.
 */
int fibre_timedjoin(fibre_t thread, void **result, const struct timespec *deadline);

/*
 `timerfd_create`: a timer.
 */
int fibre_timerfd_create(int clock, int flags);

/*
 Writes the newest events of all processors to a descriptor, for the tool `fibre-trace`: which
 fibres ran, why they waited, what made them ready. `FIBRE_TRACE` has them recorded, and written
 when SIGUSR2 comes. Returns zero or an error number: `ENOTSUP` if nothing is recorded, or that
 of the write. Blocks the fibre's kernel thread while it writes.
 */
int fibre_trace(int descriptor);

/*
 Leaves a mark in the event trace: a text. The first 64 bytes are kept. Does next to
 nothing unless `FIBRE_TRACE` has the process record events.

 # Safety

 A text that ends with a zero.
 */
void fibre_trace_mark(const char *text);

/*
 `pthread_tryjoin_np`: `fibre_join` that waits for nothing: `EBUSY` if the fibre has not ended.
 */
int fibre_tryjoin(fibre_t thread, void **result);

/*
 Lets the next `fibre_park` of a fibre or thread return, or the one that it is in. `ESRCH` if
 there is no such fibre.
 */
int fibre_unpark(fibre_t thread);

/*
 `uselocale`: sets the locale of the calling fibre, unless it is null, and returns the one
 before. Null, with `errno` `EINVAL`, if there is no such locale, or `ENOMEM` without memory to
 keep it.
 */
void *fibre_uselocale(void *locale);

/*
 `usleep`.
 */
int fibre_usleep(unsigned int microseconds);

/*
 `vmsplice`: memory into a pipe, whose room it waits for as [`fibre_tee`] does, or out of one.
 */
ptrdiff_t fibre_vmsplice(int fd, const struct iovec *buffers, size_t count, unsigned int flags);

/*
 `wait`: for any child. A cancellation point.
 */
pid_t fibre_wait(int *status);

/*
 `wait3`: [`fibre_wait4`] for any child.
 */
pid_t fibre_wait3(int *status, int options, struct rusage *usage);

/*
 `wait4`: [`fibre_waitpid`] that also tells what the child has used.
 */
pid_t fibre_wait4(pid_t pid, int *status, int options, struct rusage *usage);

/*
 `waitid`: for a child (`P_PID`), one of a group or any.
 */
int fibre_waitid(unsigned int kind, unsigned int id, void *information, int options);

/*
 `waitpid`: for a child, one of a group or any. A cancellation point.
 */
pid_t fibre_waitpid(pid_t pid, int *status, int options);

/*
 `write`: all bytes, unless the descriptor is non-blocking; waits until there is room. A
 cancellation point.
 */
ptrdiff_t fibre_write(int fd, const void *bytes, size_t count);

/*
 `writev`: [`fibre_write`] from several buffers.
 */
ptrdiff_t fibre_writev(int fd, const struct iovec *buffers, int count);

/*
 `sched_yield`: lets other fibres run.
 */
int fibre_yield(void);

extern struct hostent *gethostbyaddr(const void *address, socklen_t length, int family);

extern int gethostbyaddr_r(const void *address,
                           socklen_t address_length,
                           int family,
                           struct hostent *found,
                           char *room,
                           size_t length,
                           struct hostent **result,
                           int *error);

extern struct hostent *gethostbyname(const char *name);

extern struct hostent *gethostbyname2(const char *name, int family);

extern int gethostbyname2_r(const char *name,
                            int family,
                            struct hostent *found,
                            char *room,
                            size_t length,
                            struct hostent **result,
                            int *error);

extern int gethostbyname_r(const char *name,
                           struct hostent *found,
                           char *room,
                           size_t length,
                           struct hostent **result,
                           int *error);

extern int getservbyname_r(const char *name,
                           const char *protocol,
                           struct servent *found,
                           char *room,
                           size_t length,
                           struct servent **result);

extern int getservbyport_r(int port,
                           const char *protocol,
                           struct servent *found,
                           char *room,
                           size_t length,
                           struct servent **result);

#ifdef __cplusplus
}  /* extern "C" */
#endif  /* __cplusplus */

#endif  /* FIBRE_H */
