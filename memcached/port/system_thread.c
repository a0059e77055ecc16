/* Compiled without the header that maps names, so these are the system's threads. */
#define _GNU_SOURCE
#include "system_thread.h"

#include <stddef.h>

int system_thread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument) {
    (void)attr;
    return pthread_create(thread, NULL, start, argument);
}

int system_thread_join(pthread_t thread, void **result) {
    return pthread_join(thread, result);
}

int system_thread_setname(pthread_t thread, const char *name) {
    return pthread_setname_np(thread, name);
}

ssize_t system_sendmsg(int fd, const struct msghdr *message, int flags) {
    return sendmsg(fd, message, flags);
}
