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

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

// A fibre or a thread: an index, and above it a generation; zero is nobody. `pthread_t` has the same size.
typedef uint64_t fibre_t;

// What a cleanup handler, or the destructor of a key, is.
typedef void (*fibre_routine_t)(void *argument);

// A cleanup handler, as the macros of the header put it into the frame that pushes it.
typedef struct fibre_cleanup_t {
    // What is called.
    fibre_routine_t routine;
    // With what.
    void *argument;
    // The one that was pushed before.
    struct fibre_cleanup_t *next;
} fibre_cleanup_t;

// What a fibre runs. From C, never null.
typedef void *(*fibre_start_t)(void *argument);

// A `main`.
typedef int (*fibre_main_t)(int, char**, char**);

// What the C library's beginning calls before and after `main`, if anything.
typedef void (*fibre_hook_t)(void);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// `pthread_cancel`: cancels a fibre, which ends at its next cancellation point. `ESRCH` if it has ended; `ENOTSUP` for a plain
// thread.
int fibre_cancel(fibre_t thread);

// Pushes a cleanup handler; for the macro `fibre_cleanup_push`.
void fibre_cleanup_enter(struct fibre_cleanup_t *handler, fibre_routine_t routine, void *argument);

// Pops the cleanup handler that was pushed last, and calls it if asked to; for the macro `fibre_cleanup_pop`.
void fibre_cleanup_leave(struct fibre_cleanup_t *handler, int execute);

// `pthread_create`: a fibre in the caller's cluster, or, for a caller that is no fibre, in the default one. `EAGAIN` if there cannot be
// another one.
int fibre_create(fibre_t *thread,
                 const void *_attributes,
                 fibre_start_t start,
                 void *argument);

// `pthread_detach`: nobody will ask for the fibre's end. `ESRCH` if there is no such fibre, `EINVAL` if it is
// detached or being joined.
int fibre_detach(fibre_t thread);

// `pthread_equal`: whether two handles are of the same fibre.
int fibre_equal(fibre_t one, fibre_t other);

// Where the error number of the calling fibre is until its next call of this library; what `errno`
// stands for in programs that include the header.
int *fibre_errno_location(void);

// `pthread_exit`: ends the calling fibre with a result, after its cleanup handlers and before its keys'
// destructors. In the main thread, lets all fibres run to their ends, and then ends the process with status 0.
void fibre_exit(void *result);

// `pthread_join`: waits for a fibre's end, and has its result. `ESRCH` if there is no such fibre, `EINVAL` if it is detached or
// being joined, `EDEADLK` if it is the caller or waits for the caller. A cancellation point.
int fibre_join(fibre_t thread,
               void **result);

// `pthread_self`: the caller's handle. Threads that are no fibres have one, too.
fibre_t fibre_self(void);

// `pthread_setcancelstate`: whether the calling fibre is ended if it is cancelled. `EINVAL` for an unknown state.
int fibre_setcancelstate(int state,
                         int *old);

// `pthread_setcanceltype`: accepts both types, and treats the asynchronous one as the deferred one. `EINVAL` for another one.
int fibre_setcanceltype(int kind,
                        int *old);

// Begins a program whose `main` is to be the first fibre; what `__libc_start_main` in such a program calls. `FIBRE_MAIN=0`
// leaves `main` on its thread.
int fibre_start_main(fibre_main_t program,
                     int argument_count,
                     char **arguments,
                     fibre_hook_t init,
                     fibre_hook_t fini,
                     fibre_hook_t loader_fini,
                     void *stack_end);

// `pthread_testcancel`: ends the calling fibre if it has been cancelled.
void fibre_testcancel(void);

// `sched_yield`: lets other fibres run.
int fibre_yield(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* FIBRE_H */


