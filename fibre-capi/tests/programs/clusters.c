/* Clusters, and what else fibre.h has beyond POSIX: every call once, and the errors that it promises. */
/* unmapped */
#define _GNU_SOURCE
#include <fibre.h>
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static fibre_cluster_t *other; static int flag, ends[2]; static char text[1 << 16], metrics[1 << 16], trace[1 << 20];
static void *id(void *a) { return a; }
static void *moves(void *a) { int e = fibre_migrate(other); assert(!e); assert(fibre_cluster_destroy(other) == EDEADLK); return a; }
static void *parks(void *a) { fibre_label("kind", "x"); fibre_label("kind", "idle"); fibre_label("gone", "y"); fibre_label("gone", 0); while (!__atomic_load_n(&flag, 5)) fibre_park(); return a; }
static void *block(void *a) { errno = 77; return a; }
static void *stay(void *a) { assert(fibre_processor() == 1); fibre_yield(); assert(fibre_processor() == 1); return a; }
int main(void)
{
    fibre_config_t c;
    assert(fibre_trace(2) == ENOTSUP);
    fibre_trace_mark("nobody records this");
    assert(!setenv("FIBRE_TRACE", "ring:64K", 1));
    memset(&c, 0, sizeof c);
    c.size = sizeof c;
    c.processors = 2;
    c.name = "other";
    c.placement = "nonsense";
    assert(fibre_cluster_create(&other, &c) == EINVAL);
    c.placement = "staging";
    c.poller = "fibre";
    c.spin = 1;
    assert(!fibre_cluster_create(&other, &c));
    assert(fibre_cluster_processors(other) == 2);
    assert(!fibre_init(NULL));
    assert(fibre_init(NULL) == EBUSY);
    fibre_attr_t a;
    fibre_attr_init(&a);
    assert(!fibre_attr_setcluster(&a, other));
    assert(!fibre_attr_setname(&a, "worker"));
    fibre_t t;
    void *r;
    char n[16];
    assert(!fibre_create(&t, &a, id, &c));
    fibre_getname(t, n, 16);
    assert(!strcmp(n, "worker"));
    assert(!fibre_join(t, &r));
    assert(r == &c);
    unsigned long set = 2;
    assert(!fibre_attr_setaffinity(&a, 8, &set));
    assert(!fibre_create(&t, &a, stay, 0));
    assert(!fibre_join(t, 0));
    /* A CPU that the machine does not have. */
    if (sysconf(_SC_NPROCESSORS_CONF) < 64) {
        set = 1ul << 63;
        fibre_attr_setaffinity(&a, 8, &set);
        assert(fibre_create(&t, &a, stay, 0) == EINVAL);
    }
    set = 0;
    assert(fibre_attr_setaffinity(&a, 8, &set) == EINVAL);
    fibre_attr_setaffinity(&a, 0, 0);
    assert(!fibre_create(&t, 0, moves, 0));
    assert(!fibre_join(t, 0));
    assert(!fibre_cluster_pause(other));
    assert(!fibre_create(&t, &a, id, 0));
    assert(fibre_tryjoin(t, 0) == EBUSY);
    assert(fibre_cluster_destroy(other) == EBUSY);
    assert(!fibre_cluster_resume(other));
    assert(fibre_cluster_resume(other) == EPERM);
    assert(!fibre_join(t, 0));
    assert(!fibre_create(&t, 0, parks, 0));
    struct timespec d;
    clock_gettime(CLOCK_MONOTONIC, &d);
    assert(fibre_park_until(CLOCK_MONOTONIC, &d) == ETIMEDOUT);
    __atomic_store_n(&flag, 1, 5);
    assert(!fibre_unpark(t));
    assert(!fibre_join(t, 0));
    assert(fibre_unpark(t) == ESRCH);
    flag = 0;
    assert(!fibre_create(&t, 0, parks, 0));
    assert(fibre_dump(2) >= 0);
    errno = 7;
    while (!fibre_dump(-1))
        fibre_yield();
    assert(errno == 7);
    assert(!fibre_setname(t, "idler"));
    assert(!pipe(ends) && fibre_dump(ends[1]) > 0 && read(ends[0], text, sizeof text - 1) > 0);
    assert(strstr(text, " \"idler\" [kind=idle] of cluster \"fibre\" waits for ") && strstr(text, "    the fibre's entry\n"));
    errno = 7;
    int length = fibre_metrics(-1);
    assert(length > 1000 && errno == 7 && fibre_metrics(ends[1]) > 1000);
    length = 0;
    for (ssize_t n; length < 5 || strcmp(metrics + length - 6, "# EOF\n"); metrics[length] = 0)
        assert((n = read(ends[0], metrics + length, sizeof metrics - 1 - length)) > 0 && (length += n));
    assert(strstr(metrics, "fibre_fibres{cluster=\"fibre\",number=\""));
    fibre_trace_mark("marked in C");
    FILE *traced = tmpfile();
    errno = 7;
    assert(traced && !fibre_trace(fileno(traced)) && errno == 7 && fibre_trace(-1) == EBADF);
    rewind(traced);
    size_t size = fread(trace, 1, sizeof trace, traced);
    assert(size > 1000 && !memcmp(trace, "fibretrc", 8) && memmem(trace, size, "marked i", 8));
    assert(memmem(trace, size, "idler", 5) && !memmem(trace, size, "nobody", 6));
    fibre_cancel(t);
    fibre_join(t, &r);
    assert(r == FIBRE_CANCELED);
    errno = 0;
    assert(fibre_blocking(block, n) == n && errno == 77);
    assert(!fibre_cluster_add_processors(other, 1) && fibre_cluster_processors(other) == 3);
    flag = 0;
    assert(!fibre_create(&t, &a, parks, 0));
    assert(!fibre_cluster_stop(other, 1, 10000));
    fibre_join(t, &r);
    assert(r == FIBRE_CANCELED);
    assert(!fibre_finalise());
    puts("ok");
    return 0;
}
