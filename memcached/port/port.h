/*
 * What the edited files of Memcached and the port's own files call of each other.
 */
#ifndef PORT_H
#define PORT_H

/* Vectors that are sent by one system call, a kilobyte of stack: those of sixteen answers and more. */
#define PORT_IOVS 64

/* Serves `c` with a fibre of its own from now on; 0, or an error number. */
int port_serve(conn *c);

/* Closes a connection that no fibre could be started for. */
void port_refuse(conn *c);

/* The main thread's loop: one round of timers. The first call begins to serve the listening connections. */
int port_main_loop(struct event_base *base, int flags);

/* Ends the wait of the fibre that serves `c` and has given it to another thread. */
void port_given_back(conn *c);

/* The last thing that is done with a connection that closes: closes its descriptor and ends its fibre's loop. */
void port_close(conn *c);

/* Has every connection closed by the fibre that serves it; the others are with side threads, and stay there. */
void port_end_connections(void);

/* Makes the workers' structures ready to be shared by fibres, instead of starting a thread for each. */
void port_shard_init(LIBEVENT_THREAD *shard);

/* The shard's objects for responses, one fibre at a time, and their number. */
mc_resp *port_resp_allocate(conn *c);
void port_resp_free(conn *c, mc_resp *resp);

/* Gives back what `c` needs while it has requests: its read buffer, and the response that it keeps. */
void port_rest(conn *c);

/* The logger that messages of the calling fibre or thread go to from now on. */
void port_log_to(logger *l);

#endif
