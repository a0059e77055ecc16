/* read, readv: threads that read from one open file, or its duplicate, get parts that follow on one another, cached or not. */
#include "../check.h"

#include <sys/uio.h>

#define RECORD 20480
#define COUNT 200
#define THREADS 4

static int file, twin;
static atomic_int total;
static atomic_uchar seen[COUNT];

static void *run(void *by_twin)
{
    unsigned char bytes[RECORD];
    struct iovec parts[2] = {{bytes, 100}, {bytes + 100, RECORD - 100}};
    for (int turn = 0;; turn++) {
        ssize_t length = by_twin ? readv(twin, parts, 2) : read(file, bytes, RECORD);
        if (length == 0)
            return NULL;
        IS(length, RECORD);
        for (int at = 1; at < RECORD; at++)
            IS(bytes[at], bytes[0]);
        IS(atomic_exchange(&seen[bytes[0]], 1), 0);
        total++;
    }
}

static void test(void)
{
    static unsigned char record[RECORD];
    char name[] = "/tmp/records-XXXXXX";
    CHECK((file = mkstemp(name)) >= 0);
    OK(unlink(name));
    memset(seen, 0, sizeof seen);
    for (total = 0; total < COUNT; total++) {
        memset(record, total, RECORD);
        IS(write(file, record, RECORD), RECORD);
    }
    OK(fdatasync(file));
    OK(posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM));
    /* The middle of each record is left to the disk, where there is one. */
    for (total = 0; total < COUNT; total++)
        OK(posix_fadvise(file, (off_t)total * RECORD + 8192, 8192, POSIX_FADV_DONTNEED));
    CHECK((twin = dup(file)) >= 0);
    IS(lseek(file, 0, SEEK_SET), 0);
    total = 0;
    pthread_t threads[THREADS];
    for (int one = 0; one < THREADS; one++)
        threads[one] = start(run, one % 2 ? &twin : NULL);
    for (int one = 0; one < THREADS; one++)
        finish(threads[one]);
    IS(total, COUNT);
    OK(close(file));
    OK(close(twin));
}

int main(void)
{
    return on_both(test);
}
