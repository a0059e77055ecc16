
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
