/*
 * The workers' structures as shards that fibres share. Becomes the end of thread.c.
 *
 * The original has a thread for each worker, which alone uses its caches. Here `-t N` gives N shards and as
 * many processors; a connection belongs to a shard for statistics, buffers and log, and its fibre may run on
 * any processor. So what only the worker used has a lock: the caches their own, the bundles of responses that
 * of the shard's statistics. To stop all requests, as the growing hash table needs, every item lock is taken in order: whoever
 * looks at the table holds one.
 */

void port_log_to(logger *l) {
    pthread_setspecific(logger_key, l);
}

/* What the library does otherwise if the environment does not say: as many processors as the original would have
 * threads; no fibre lets others run before it reads, since it has just waited, and has taken a read buffer; and
 * none is cut off in the middle of a batch, whose length the state machine limits by itself (-R): its answers go
 * out at the end of it, so they would wait until all other connections have had their turns. A slice is measured
 * by the clock, which goes on while the kernel runs something else, so it has to be far longer than a batch. */
static void port_configure(void) {
    char number[16];
    snprintf(number, sizeof(number), "%d", settings.num_threads);
    setenv("FIBRE_PROCESSORS", number, 0);
    setenv("FIBRE_YIELD_BEFORE_READ", "0", 0);
    setenv("FIBRE_SLICE", "100000", 0);
}

void port_shard_init(LIBEVENT_THREAD *shard) {
    if (shard == threads)
        port_configure();
    shard->l = logger_create();
    shard->lru_bump_buf = item_lru_bump_buf_create();
    if (shard->l == NULL || shard->lru_bump_buf == NULL) {
        fprintf(stderr, "Can't allocate a worker's log and LRU buffer\n");
        exit(EXIT_FAILURE);
    }
}

void pause_threads(enum pause_thread_types type) {
    bool all = type == PAUSE_ALL_THREADS || type == RESUME_ALL_THREADS;
    bool pause = type == PAUSE_ALL_THREADS || type == PAUSE_WORKER_THREADS;
    if (all && pause) {
        slabs_rebalancer_pause();
        lru_maintainer_pause();
        lru_crawler_pause();
#ifdef EXTSTORE
        storage_compact_pause();
        storage_write_pause();
#endif
    }
    for (uint32_t i = 0; i < item_lock_count; i++) {
        if (pause)
            mutex_lock(&item_locks[i]);
        else
            mutex_unlock(&item_locks[i]);
    }
    if (all && !pause) {
        slabs_rebalancer_resume();
        lru_maintainer_resume();
        lru_crawler_resume();
#ifdef EXTSTORE
        storage_compact_resume();
        storage_write_resume();
#endif
    }
}

static void port_stopped(const char *what) {
    if (settings.verbose > 0)
        fprintf(stderr, "stopped %s\n", what);
}

/* Ends everything that touches items: called by the main thread before the memory file is closed. */
void stop_threads(void) {
    stop_assoc_maintenance_thread();
    port_stopped("hash table maintenance");
    port_end_connections();
    port_stopped("connections");
    stop_item_crawler_thread(CRAWLER_WAIT);
    port_stopped("lru crawler");
    if (settings.lru_maintainer_thread) {
        stop_lru_maintainer_thread();
        port_stopped("lru maintainer");
    }
    if (settings.slab_reassign) {
        stop_slab_maintenance_thread();
        port_stopped("slab mover");
    }
    logger_stop();
    port_stopped("logger");
    conn_close_all(); /* no fibre touches these any more, see port_await_return */
    port_stopped("connections of side threads");
}

void dispatch_conn_new(int sfd, enum conn_states init_state, int event_flags, int read_buffer_size,
                       enum network_transport transport, void *ssl, uint64_t conntag, enum protocol bproto) {
    LIBEVENT_THREAD *shard =
        settings.num_napi_ids ? select_thread_by_napi_id(sfd) : select_thread_round_robin();
    conn *c;
    port_log_to(shard->l);
    c = conn_new(sfd, init_state, event_flags, read_buffer_size, transport, shard->base, ssl, conntag, bproto);
    if (c == NULL) {
        if (IS_UDP(transport)) {
            fprintf(stderr, "Can't serve UDP socket %d\n", sfd);
            exit(1);
        }
        close(sfd);
        return;
    }
    c->thread = shard;
    conn_io_queue_setup(c);
    if (port_serve(c) != 0) {
        fprintf(stderr, "Can't start a fibre for connection %d\n", sfd);
        port_refuse(c);
    }
}

void redispatch_conn(conn *c) {
    port_given_back(c);
}
