/* read, write, readv, writev, pread, pwrite, close, fsync, fdatasync, fcntl, lockf, tcdrain, open, openat, creat: a pending request acts
 * in a call that would fail. */
#include "table.h"

#include <sys/stat.h>
#include <sys/uio.h>
#include <termios.h>

static int closed;

/* Calls on a number that is no descriptor. */
static int on(int fd, int number)
{
    char byte = 0;
    struct iovec part = {&byte, 1};
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    TRY(read(fd, &byte, 1));
    TRY(read(fd, &byte, 0));
    TRY(write(fd, &byte, 1));
    TRY(write(fd, &byte, 0));
    TRY(readv(fd, &part, 1));
    TRY(readv(fd, &part, minus_one));
    TRY(writev(fd, &part, 1));
    TRY(writev(fd, nowhere, 1));
    TRY(pread(fd, &byte, 1, 0));
    TRY(pread(fd, &byte, 1, -1));
    TRY(pwrite(fd, &byte, 1, 0));
    TRY(pwrite(fd, &byte, 1, -1));
    TRY(close(fd));
    TRY(fsync(fd));
    TRY(fdatasync(fd));
    TRY(fcntl(fd, F_SETLKW, &lock));
    TRY(lockf(fd, F_LOCK, 0));
    TRY(tcdrain(fd));
    TRY(open("/no such place/file", O_RDONLY));
    TRY(openat(fd, "no such file", O_RDONLY));
    TRY(creat("/no such place/file", 0600));
    return 0;
}

/* How many of them there are. */
#define CALLS 21

static int turn(int number)
{
    return number < CALLS ? on(-1, number) : on(closed, number - CALLS);
}

static void test(void)
{
    CHECK((closed = dup(2)) >= 0);
    OK(close(closed));
    each_ends_its_thread();
}

int main(void)
{
    return on_both(test);
}
