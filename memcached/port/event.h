/*
 * The part of libevent's interface that Memcached compiles against, over fibres (or threads).
 *
 * A base holds timers only. An event of a descriptor is a record of what its connection waits for: the
 * connection's fibre (port_connection.c) reads it and waits, so adding and deleting are plain stores.
 */
#ifndef PORT_EVENT_H
#define PORT_EVENT_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <sys/time.h>

/* Memcached gets these through libevent's header. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define EV_TIMEOUT 0x01
#define EV_READ 0x02
#define EV_WRITE 0x04
#define EV_PERSIST 0x10
#define EVLOOP_ONCE 0x01

typedef int evutil_socket_t;

/* What a connection's fibre keeps on its own stack. Others tell it there that the connection is closed:
 * after that the connection's record may serve a new client, and the old fibre must not look at it. */
struct event_driver {
    bool left;
};

struct event_base;

struct event {
    evutil_socket_t fd;
    short events;                /* EV_READ or EV_WRITE; 0: nothing is waited for */
    bool armed;                  /* false: another thread has the connection */
    void (*callback)(evutil_socket_t, short, void *);
    void *argument;
    struct event_base *ev_base;
    struct event_driver *driver; /* the fibre that serves this event, if there is one */
    sem_t posts;                 /* counts how often another thread has given the connection back */
};

const char *event_get_version(void);
struct event_base *event_init(void);
void event_base_free(struct event_base *base);
int event_base_set(struct event_base *base, struct event *event);
int event_base_loop(struct event_base *base, int flags);
int event_base_loopexit(struct event_base *base, const struct timeval *after);
void event_set(struct event *event, evutil_socket_t fd, short events,
               void (*callback)(evutil_socket_t, short, void *), void *argument);
int event_add(struct event *event, const struct timeval *after);
int event_del(struct event *event);

#define evtimer_set(event, callback, argument) event_set(event, -1, 0, callback, argument)
#define evtimer_add(event, after) event_add(event, after)
#define evtimer_del(event) event_del(event)

#endif
