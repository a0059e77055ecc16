/* fallocate, posix_fallocate, copy_file_range, preadv2, pwritev2, msync, syncfs, sync_file_range: do what they say to a file. */
#include "../check.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

static long size_of(int fd)
{
    struct stat status;
    OK(fstat(fd, &status));
    return status.st_size;
}

static void test(void)
{
    char text[8] = "abcdefg";
    struct iovec all = {text, 4};
    int one = memfd_create("one", 0), other = memfd_create("other", 0), ends[2];
    CHECK(one >= 0 && other >= 0);
    OK(posix_fallocate(one, 0, 100));
    IS(size_of(one), 100);
    OK(fallocate(one, 0, 100, 4000));
    IS(size_of(one), 4100);
    FAILS(fallocate(one, 0, 0, 0), EINVAL);
    errno = 0;
    IS(posix_fallocate(one, 0, -1), EINVAL);
    IS(errno, 0);

    IS(pwritev2(one, &all, 1, 50, RWF_SYNC), 4);
    IS(pwritev2(one, &all, 1, -1, 0), 4);
    IS(lseek(one, 0, SEEK_CUR), 4);
    FAILS(pwritev2(one, &all, 1, -2, 0), EINVAL);
    FAILS(preadv2(one, &all, 1, 0, 1 << 30), EOPNOTSUPP);
    memset(text, 0, sizeof text);
    IS(preadv2(one, &all, 1, 50, RWF_HIPRI), 4);
    CHECK(strcmp(text, "abcd") == 0);
    IS(preadv2(one, &all, 1, 4, 0), 4);
    IS(text[0], 0);
    OK(pipe(ends));
    FAILS(preadv2(ends[0], &all, 1, -1, RWF_NOWAIT), EAGAIN);
    IS(write(ends[1], "xyz", 3), 3);
    IS(preadv2(ends[0], &all, 1, -1, 0), 3);

    off_t from = 50;
    IS(copy_file_range(one, &from, other, NULL, 4, 0), 4);
    IS(from, 54);
    IS(pread(other, text, sizeof text, 0), 4);
    CHECK(memcmp(text, "abcd", 4) == 0);

    void *mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, one, 0);
    CHECK(mapped != MAP_FAILED);
    OK(msync(mapped, 4096, MS_SYNC));
    OK(munmap(mapped, 4096));
    FAILS(msync(mapped, 4096, MS_SYNC), ENOMEM);
    OK(syncfs(one));
    FAILS(syncfs(-1), EBADF);
    FAILS(sync_file_range(-1, 0, 0, 0), EBADF);
    OK(close(one));
    OK(close(other));
    OK(close(ends[0]));
    OK(close(ends[1]));
}

int main(void)
{
    return on_both(test);
}
