/*
 * A fibre for each connection: wait for the descriptor, run the state machine, again. Becomes the end of
 * memcached.c.
 *
 * The state machine is the original's, and so are non-blocking descriptors: where it used to return to the
 * event loop it returns to `port_drive`, which reads from the connection's `struct event` what to wait for.
 *
 *  - A connection's owner. It is its fibre, until the state machine takes the event away (`armed` is false): then a
 *    side thread has it (crawler, logger, storage) and gives it back by a post. Posts are counted, since a
 *    side thread may be faster than the fibre's way back to its loop.
 *  - A closed connection's record may serve the next client at once. So the fibre learns on its own stack
 *    (`left`) that it was closed, and `close` comes last, when nothing of the record is needed any more.
 *  - The end (SIGUSR1): `port_stopping` is set and sockets are shut down, so that waits end; each fibre closes
 *    its own connection. `port_serving` counts fibres that have a connection in hands, or get it back for sure.
 *    Once it is zero the connections that are left are the main thread's: a fibre that is given one back counts
 *    itself before it looks at `port_stopping`, and then leaves it alone. So nobody closes what another closes.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>

#ifndef PORT_THREADS
#include <fibre.h>
#endif

#define PORT_STACK (64 * 1024)
#define PORT_BACKOFF_US 10000 /* between looks whether descriptors are free again; the original's figure */

static bool port_stopping;
static int port_serving;

#ifdef PORT_THREADS
/* A thread for each connection: the same by poll(2). */
static int port_ready(int fd, short events, int patience_ms) {
    struct pollfd wanted = {.fd = fd, .events = events & EV_WRITE ? POLLOUT : POLLIN};
    return poll(&wanted, 1, patience_ms);
}
#else
static int port_ready(int fd, short events, int patience_ms) {
    struct timespec deadline;
    if (patience_ms >= 0) {
        clock_gettime(CLOCK_MONOTONIC, &deadline);
        deadline.tv_sec += patience_ms / 1000;
        deadline.tv_nsec += patience_ms % 1000 * 1000000L;
        if (deadline.tv_nsec >= 1000000000) {
            deadline.tv_nsec -= 1000000000;
            deadline.tv_sec++;
        }
    }
    return fibre_fd_wait(fd, events & EV_WRITE ? POLLOUT : POLLIN, patience_ms < 0 ? NULL : &deadline);
}
#endif

/* How long the connection may wait: until it is idle for too long, if that is limited. */
static int port_patience(const conn *c) {
    if (IS_UDP(c->transport))
        return 1000; /* shutdown does not end the wait of an unconnected socket */
    if (settings.idle_timeout <= 0 || !IS_TCP(c->transport) || (c->state != conn_read && c->state != conn_new_cmd))
        return -1;
    int64_t left = (int64_t)settings.idle_timeout + 1 - (current_time - c->last_cmd_time);
    int64_t most = INT_MAX / 1000; /* who has waited for so long looks again */
    return left <= 0 ? 1000 : 1000 * (int)(left < most ? left : most);
}

/* Another thread has the connection; waits until it is given back. */
static void port_await_return(conn *c) {
    if (c->state == conn_io_queue) { /* reading comes to an end, so the end waits for it */
        while (sem_wait(&c->event.posts) != 0)
            continue;
        return;
    }
    do {
        __atomic_sub_fetch(&port_serving, 1, __ATOMIC_SEQ_CST);
        while (sem_wait(&c->event.posts) != 0)
            continue;
        __atomic_add_fetch(&port_serving, 1, __ATOMIC_SEQ_CST);
    } while (__atomic_load_n(&port_stopping, __ATOMIC_SEQ_CST));
}

/* The kernel has no memory or no room to wait for the descriptor: a client is let go, as in the original. */
static void port_cannot_wait(conn *c) {
    if (settings.verbose > 0)
        perror("Can't wait for a descriptor");
    if (c->state == conn_listening || IS_UDP(c->transport))
        usleep(PORT_BACKOFF_US);
    else
        conn_close(c);
}

/* One turn of a connection: waits as its event says, and lets the state machine run. */
static void port_turn(conn *c) {
    struct event *event = &c->event;
    int ready = 1;
    if (!event->armed && c->state != conn_listening) {
        port_await_return(c);
        conn_worker_readd(c);
        return;
    }
    short events = event->events;
    if (events == 0)
        usleep(PORT_BACKOFF_US); /* a listener while descriptors have run out */
    else if (c->state == conn_new_cmd && c->rbytes > 0)
        sched_yield(); /* it had its share of requests, and has read more */
    else
        ready = port_ready(event->fd, events, port_patience(c));
    if (__atomic_load_n(&port_stopping, __ATOMIC_SEQ_CST))
        conn_close(c);
    else if (ready > 0 && events != 0)
        event_handler(event->fd, events, c);
    else if (ready == 0 && !IS_UDP(c->transport))
        conn_close_idle(c);
    else if (ready < 0 && errno != EINTR)
        port_cannot_wait(c);
}

/* What each connection's fibre runs, until the connection is closed. */
static void *port_drive(void *argument) {
    conn *c = argument;
    struct event_driver self = {.left = false};
    c->event.driver = &self;
    port_log_to(c->thread != NULL ? c->thread->l : get_worker_thread(0)->l);
    while (!self.left)
        port_turn(c);
    __atomic_sub_fetch(&port_serving, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

int port_serve(conn *c) {
    pthread_attr_t attr;
    pthread_t fibre;
    int failed;
    sem_init(&c->event.posts, 0, 0);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, PORT_STACK);
    __atomic_add_fetch(&port_serving, 1, __ATOMIC_SEQ_CST);
    failed = pthread_create(&fibre, &attr, port_drive, c);
    if (failed)
        __atomic_sub_fetch(&port_serving, 1, __ATOMIC_SEQ_CST);
    pthread_attr_destroy(&attr);
    return failed;
}

void port_given_back(conn *c) {
    sem_post(&c->event.posts);
}

void port_close(conn *c) {
    c->close_reason = 0;
    if (c->event.driver != NULL) {
        c->event.driver->left = true;
        c->event.driver = NULL;
    }
    pthread_mutex_lock(&conn_lock); /* see port_end_connections */
    close(c->sfd);
    pthread_mutex_unlock(&conn_lock);
}

/* The lock of the shard's statistics, which are kept in the same moment anyway, guards its responses. From one request of a
 * batch to the next a connection keeps the response that it has brought last, without that lock. */
mc_resp *port_resp_allocate(conn *c) {
    mc_resp *spare = c->spare;
    c->spare = NULL;
    if (spare != NULL)
        return spare;
    THR_STATS_LOCK(c);
    mc_resp *resp = resp_allocate(c);
    if (resp != NULL)
        c->thread->stats.response_obj_count++;
    THR_STATS_UNLOCK(c);
    return resp;
}

void port_resp_free(conn *c, mc_resp *resp) {
    if (c->spare == NULL) {
        c->spare = resp;
        return;
    }
    THR_STATS_LOCK(c);
    resp_free(c, resp);
    c->thread->stats.response_obj_count--;
    THR_STATS_UNLOCK(c);
}

void port_rest(conn *c) {
    mc_resp *spare = c->spare;
    if (spare != NULL) {
        THR_STATS_LOCK(c);
        c->spare = NULL;
        resp_free(c, spare);
        c->thread->stats.response_obj_count--;
        THR_STATS_UNLOCK(c);
    }
    rbuf_release(c);
}

void port_refuse(conn *c) {
    conn_close(c);
}

int port_main_loop(struct event_base *base, int flags) {
    static bool begun;
    if (!begun) {
        begun = true;
        for (conn *c = listen_conn; c != NULL; c = c->next) {
            if (port_serve(c) != 0) {
                fprintf(stderr, "failed to start accepting connections\n");
                return -1;
            }
        }
    }
    return event_base_loop(base, flags);
}

/* Whether the fibre of `c` waits for it, or is about to. */
static bool port_waits(const conn *c) {
    return c != NULL && c->state != conn_closed && c->event.armed && c->event.driver != NULL;
}

void port_end_connections(void) {
    __atomic_store_n(&port_stopping, true, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&port_serving, __ATOMIC_SEQ_CST) > 0) {
        for (int fd = 0; fd < max_fds; fd++) {
            if (!port_waits(conns[fd]))
                continue; /* a look without the lock, which those who close need; there is another round */
            /* The lock keeps the number from being closed, and so from meaning something else. */
            pthread_mutex_lock(&conn_lock);
            if (port_waits(conns[fd]))
                shutdown(fd, SHUT_RDWR);
            pthread_mutex_unlock(&conn_lock);
        }
        usleep(PORT_BACKOFF_US);
    }
}
