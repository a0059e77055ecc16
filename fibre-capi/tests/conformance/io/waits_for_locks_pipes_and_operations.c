/* lockf, vmsplice, tee, aio_suspend: a thread waits for a lock, for a pipe or for an operation while the others go on. */
#include "../check.h"

#include <aio.h>
#include <sys/uio.h>

static int file, ends[2], other[2];

static void *lock(void *unused)
{
    OK(lockf(file, F_LOCK, 0));
    OK(lockf(file, F_ULOCK, 0));
    return unused;
}

/* Another opening of the file has the lock. */
static void locks(void)
{
    char name[] = "/tmp/fibre-lockf-XXXXXX";
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int holder = mkstemp(name);
    CHECK(holder >= 0);
    file = open(name, O_RDWR);
    CHECK(file >= 0);
    OK(unlink(name));
    OK(fcntl(holder, F_OFD_SETLK, &whole));
    FAILS(lockf(file, F_TLOCK, 0), EAGAIN);
    pthread_t thread = start(lock, NULL);
    let_block();
    whole.l_type = F_UNLCK;
    OK(fcntl(holder, F_OFD_SETLK, &whole));
    finish(thread);
    OK(close(file));
    OK(close(holder));
}

static char page[4096] __attribute__((aligned(4096)));

static void *give(void *unused)
{
    struct iovec all = {page, sizeof page};
    IS(vmsplice(ends[1], &all, 1, 0), sizeof page);
    return unused;
}

static void *copy(void *unused)
{
    IS(tee(ends[0], other[1], sizeof page, 0), 3);
    return unused;
}

static void pipes(void)
{
    char text[sizeof page];
    OK(pipe(ends));
    OK(pipe(other));
    IS(fcntl(ends[1], F_SETPIPE_SZ, sizeof page), sizeof page);
    IS(write(ends[1], page, sizeof page), sizeof page);
    pthread_t thread = start(give, NULL);
    let_block();
    IS(read(ends[0], text, sizeof text), sizeof text);
    finish(thread);
    IS(read(ends[0], text, sizeof text), sizeof text);
    thread = start(copy, NULL);
    let_block();
    IS(write(ends[1], "abc", 3), 3);
    finish(thread);
    IS(read(ends[0], text, sizeof text), 3);
    IS(read(other[0], text, sizeof text), 3);
    CHECK(memcmp(text, "abc", 3) == 0);
}

static void *await(void *operation)
{
    const struct aiocb *const all[] = {operation};
    OK(aio_suspend(all, 1, NULL));
    IS(aio_return(operation), 1);
    return NULL;
}

static void operations(void)
{
    char byte;
    struct aiocb operation = {.aio_fildes = ends[0], .aio_buf = &byte, .aio_nbytes = 1};
    const struct aiocb *const all[] = {&operation};
    struct timespec soon = {0, 1000000};
    OK(aio_read(&operation));
    FAILS(aio_suspend(all, 1, &soon), EAGAIN);
    pthread_t thread = start(await, &operation);
    let_block();
    IS(write(ends[1], "x", 1), 1);
    finish(thread);
    for (int i = 0; i < 2; i++) {
        OK(close(ends[i]));
        OK(close(other[i]));
    }
}

static void test(void)
{
    locks();
    pipes();
    operations();
}

int main(void)
{
    return on_both(test);
}
