/*
 * Threads of the system, for work in the background (LRU, crawler, slab mover, hash table, logger, storage):
 * it runs for long without waiting, and the kernel takes the processor from it when connections need it.
 */
#ifndef PORT_SYSTEM_THREAD_H
#define PORT_SYSTEM_THREAD_H

#include <pthread.h>

int system_thread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument);
int system_thread_join(pthread_t thread, void **result);
int system_thread_setname(pthread_t thread, const char *name);

#endif
