/* What programs about several processes use: memory that they share, and children of two kinds. A child is forked before
 * there is any thread. It goes on with the functions that the program is compiled for, or with the system's own, which it finds by
 * their names: then a process that knows nothing of fibres is on the other side. */
#ifndef SHARED_H
#define SHARED_H

#include "../check.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* The system's own function of this name. */
#define PLAIN(name) ((__typeof__(&name))plain(#name))

static inline void *plain(const char *name)
{
    void *function = dlsym(RTLD_DEFAULT, name);
    CHECK(function);
    return function;
}

/* Memory that children share. */
static inline void *share(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

/* A child that calls this and ends with 0. */
static inline pid_t child(void (*run)(void))
{
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        role = "child";
        watch();
        run();
        _exit(0);
    }
    return pid;
}

/* Waits for its end, which must be a good one. */
static inline void reap(pid_t pid)
{
    int status = -1;
    IS(waitpid(pid, &status, 0), pid);
    IS(status, 0);
}

/* Waits until another process or thread has made the expression true. */
#define UNTIL(expr)                                             \
    do {                                                        \
        while (!(expr))                                         \
            nanosleep(&(struct timespec){0, 200000}, NULL);     \
    } while (0)

/* A mutex of this type. */
static inline void init_mutex(pthread_mutex_t *mutex, int type, int robust)
{
    pthread_mutexattr_t attr;
    OK(pthread_mutexattr_init(&attr));
    OK(pthread_mutexattr_settype(&attr, type));
    OK(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
    OK(pthread_mutexattr_setrobust(&attr, robust));
    OK(pthread_mutex_init(mutex, &attr));
    OK(pthread_mutexattr_destroy(&attr));
}

/* A condition variable. */
static inline void init_cond(pthread_cond_t *cond, clockid_t clock)
{
    pthread_condattr_t attr;
    OK(pthread_condattr_init(&attr));
    OK(pthread_condattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
    OK(pthread_condattr_setclock(&attr, clock));
    OK(pthread_cond_init(cond, &attr));
    OK(pthread_condattr_destroy(&attr));
}

#endif
