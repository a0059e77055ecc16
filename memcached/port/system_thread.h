/*
 * Threads of the system, for work in the background (LRU, crawler, slab mover, hash table, logger, storage):
 * it runs for long without waiting, and the kernel takes the processor from it when connections need it.
 */
#ifndef PORT_SYSTEM_THREAD_H
#define PORT_SYSTEM_THREAD_H

#include <pthread.h>
#include <sys/socket.h>

int system_thread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument);
int system_thread_join(pthread_t thread, void **result);
int system_thread_setname(pthread_t thread, const char *name);

/* sendmsg of the system. A call of the library lets others run when its fibre has had its share; here that would be
 * between the answers to one batch of requests, whose number the state machine limits by itself (-R). */
ssize_t system_sendmsg(int fd, const struct msghdr *message, int flags);

#endif
