/* A program in which two fibres wait for each other, for gdb: it stops itself when they do. */
#define _GNU_SOURCE
#include <fibre.h>
#include <assert.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static fibre_mutex_t first, second;
static fibre_barrier_t both;

static void takes_both(fibre_mutex_t *mine, fibre_mutex_t *other)
{
    fibre_mutex_lock(mine);
    fibre_barrier_wait(&both);
    fibre_mutex_lock(other);
    fibre_mutex_unlock(other);
}

static void *ab(void *a) { takes_both(&first, &second); return a; }
static void *ba(void *a) { takes_both(&second, &first); return a; }

static void *sleeps(void *a)
{
    fibre_label("conn", "42");
    fibre_sleep(1 << 20);
    return a;
}

static fibre_t start(const char *name, void *(*f)(void *))
{
    fibre_t fibre;
    int error = fibre_create(&fibre, 0, f, 0);
    assert(!error);
    error = fibre_setname(fibre, name);
    assert(!error);
    return fibre;
}

/* Whether a dump shows all of them in their waits. */
static int hang(void)
{
    static char text[1 << 16];
    int ends[2], error = pipe(ends);
    assert(!error);
    memset(text, 0, sizeof text);
    fibre_dump(ends[1]);
    close(ends[1]);
    for (size_t length = 0, more = 1; more; length += more)
        more = read(ends[0], text + length, sizeof text - 1 - length);
    close(ends[0]);
    return strstr(text, "\"ab\" waits for the mutex") && strstr(text, "\"ba\" waits for the mutex")
        && strstr(text, "\"sleeper\" [conn=42] waits for time");
}

int main(void)
{
    fibre_mutexattr_t kind;
    fibre_mutexattr_init(&kind);
    fibre_mutexattr_settype(&kind, FIBRE_MUTEX_ERRORCHECK);
    fibre_mutex_init(&first, &kind);
    fibre_mutex_init(&second, &kind);
    fibre_barrier_init(&both, 0, 2);
    start("ab", ab);
    start("ba", ba);
    start("sleeper", sleeps);
    alarm(120);
    while (!hang())
        fibre_usleep(1000);
    raise(SIGTRAP);
    return 0;
}
