/*
 * Timers for the thread that keeps the time; everything else of libevent's interface is a plain store.
 *
 * The main thread runs the loop: once a second the clock, and the retry of accepting connections when
 * descriptors have run out. A timer may be added from any fibre, so the list has a lock, and an eventfd ends
 * the loop's sleep. Timers are remembered by the address of their event, since Memcached sets an event anew
 * while it is in the list.
 *
 * Compiled without the header that maps names: the lock is the system's, and nobody waits while holding it.
 */
#include "event.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define TIMERS 8 /* Memcached has two */

struct timer {
    struct event *event;
    int64_t due; /* milliseconds of the monotonic clock */
};

struct event_base {
    pthread_mutex_t lock;
    struct timer timers[TIMERS];
    int used;
    int bell; /* an eventfd: the list has changed */
};

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

const char *event_get_version(void) {
    return "2.1-fibre";
}

struct event_base *event_init(void) {
    struct event_base *base = calloc(1, sizeof(*base));
    if (base == NULL)
        return NULL;
    pthread_mutex_init(&base->lock, NULL);
    base->bell = -1;
    return base;
}

void event_base_free(struct event_base *base) {
    if (base->bell >= 0)
        close(base->bell);
    free(base);
}

int event_base_set(struct event_base *base, struct event *event) {
    event->ev_base = base;
    return 0;
}

int event_base_loopexit(struct event_base *base, const struct timeval *after) {
    (void)base;
    (void)after;
    return 0;
}

void event_set(struct event *event, evutil_socket_t fd, short events,
               void (*callback)(evutil_socket_t, short, void *), void *argument) {
    event->fd = fd;
    event->events = events & (EV_READ | EV_WRITE);
    event->callback = callback;
    event->argument = argument;
}

/* Takes the timer of `event` out of the list; the caller has the lock. */
static void forget(struct event_base *base, const struct event *event) {
    for (int i = 0; i < base->used; i++) {
        if (base->timers[i].event == event) {
            base->timers[i] = base->timers[--base->used];
            return;
        }
    }
}

static void ring(struct event_base *base) {
    uint64_t one = 1;
    if (base->bell >= 0 && write(base->bell, &one, sizeof(one)) < 0)
        perror("timers");
}

int event_add(struct event *event, const struct timeval *after) {
    struct event_base *base = event->ev_base;
    if (after == NULL) {
        event->armed = true;
        return 0;
    }
    pthread_mutex_lock(&base->lock);
    forget(base, event);
    if (base->used == TIMERS) {
        pthread_mutex_unlock(&base->lock);
        return -1;
    }
    if (base->bell < 0)
        base->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    base->timers[base->used++] =
        (struct timer){event, now() + (int64_t)after->tv_sec * 1000 + after->tv_usec / 1000};
    pthread_mutex_unlock(&base->lock);
    ring(base);
    return 0;
}

int event_del(struct event *event) {
    struct event_base *base = event->ev_base;
    if (event->fd >= 0) {
        event->armed = false;
        return 0;
    }
    pthread_mutex_lock(&base->lock);
    forget(base, event);
    pthread_mutex_unlock(&base->lock);
    return 0;
}

/* Takes out and returns an event whose time has come, or says how long to sleep. */
static struct event *due(struct event_base *base, int *sleep) {
    struct event *event = NULL;
    int64_t time = now(), first = time + 60 * 1000;
    pthread_mutex_lock(&base->lock);
    for (int i = 0; i < base->used && event == NULL; i++) {
        if (base->timers[i].due <= time)
            event = base->timers[i].event;
        else if (base->timers[i].due < first)
            first = base->timers[i].due;
    }
    if (event != NULL)
        forget(base, event);
    pthread_mutex_unlock(&base->lock);
    *sleep = (int)(first - time);
    return event;
}

/* Sleeps until timers are due and runs them; a signal ends the call too, so that its flag is seen at once. */
int event_base_loop(struct event_base *base, int flags) {
    struct event *event;
    int sleep;
    (void)flags;
    while ((event = due(base, &sleep)) == NULL) {
        struct pollfd bell = {.fd = base->bell, .events = POLLIN};
        uint64_t count;
        if (poll(&bell, 1, sleep) < 0)
            return errno == EINTR ? 0 : -1;
        if (bell.revents && read(base->bell, &count, sizeof(count)) < 0 && errno != EAGAIN)
            return -1;
    }
    do
        event->callback(-1, EV_TIMEOUT, event->argument);
    while ((event = due(base, &sleep)) != NULL);
    return 0;
}
