
/* What the system's headers have, if they are asked for it. */
struct timespec;
struct sched_param;
struct iovec;
struct msghdr;
struct mmsghdr;
struct sockaddr;
struct pollfd;
struct timeval;
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

/* pthread_cleanup_push and pthread_cleanup_pop: a pair within one block. The routine is called if the fibre ends between them,
 * or at the second one if that is told so. */
#define fibre_cleanup_push(routine, argument) \
    do { \
        fibre_cleanup_t fibre_cleanup_frame_; \
        fibre_cleanup_enter(&fibre_cleanup_frame_, (routine), (argument))
#define fibre_cleanup_pop(execute) \
        fibre_cleanup_leave(&fibre_cleanup_frame_, (execute)); \
    } while (0)
