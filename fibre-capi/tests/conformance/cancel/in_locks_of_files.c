/* pthread_cancel, lockf, fcntl: a thread that waits for the lock of a part of a file ends there when it is cancelled, and takes no lock. */
#include "../check.h"

static int held, wanted;
static struct flock part;

static void *by_lockf(void *unused)
{
    lockf(wanted, F_LOCK, 0);
    return unused;
}

static void *by_fcntl(void *unused)
{
    fcntl(wanted, F_SETLKW, &part);
    return unused;
}

static void *by_description(void *unused)
{
    fcntl(wanted, F_OFD_SETLKW, &part);
    return unused;
}

static void test(void)
{
    void *(*const routines[])(void *) = {by_lockf, by_fcntl, by_description};
    char name[] = "/tmp/fibre-locks-XXXXXX";
    CHECK((held = mkstemp(name)) >= 0);
    CHECK((wanted = open(name, O_RDWR)) >= 0);
    OK(unlink(name));
    part = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
    /* One that has been cancelled before, and one that waits. */
    for (int i = 0; i < 6; i++) {
        OK(fcntl(held, F_OFD_SETLK, &part));
        pthread_t thread = start(routines[i % 3], NULL);
        if (i >= 3)
            until_all_block();
        OK(pthread_cancel(thread));
        CHECK(finish(thread) == PTHREAD_CANCELED);
        struct flock none = {.l_type = F_UNLCK, .l_whence = SEEK_SET}, who = part;
        OK(fcntl(held, F_OFD_SETLK, &none));
        OK(fcntl(held, F_OFD_GETLK, &who));
        IS(who.l_type, F_UNLCK);
    }
    OK(close(wanted));
    OK(close(held));
}

int main(void)
{
    return on_both(test);
}
