/* read, write: where a file was, and is a pipe now by a system call of the program's own, they wait as for any pipe,
 * and can be cancelled; so by a duplicate made since. */
#include "../check.h"

static int number;
static int used;
static int end;
static int has_twin;
static int unused = 100;
static atomic_int begun;
static char many[1 << 16];

/* A number that was a file's, and is one of a pipe's ends. */
static void change(void)
{
    OK(syscall(SYS_dup3, end, number, O_CLOEXEC) - number);
    OK(syscall(SYS_close, end));
}

static void *run(void *writes)
{
    /* As a file, it is used in this thread, too. */
    IS(read(number, many, 1), 0);
    change();
    CHECK((used = has_twin ? dup(number) : number) >= 0);
    begun = 1;
    if (writes)
        IS(write(used, many, 1), 77);
    else
        IS(read(used, many, 1), 77);
    return NULL;
}

static void test(void)
{
    int ends[2];
    for (int one = 0; one < 4; one++) {
        int writes = one & 1;
        has_twin = one > 1;
        begun = 0;
        OK(syscall(SYS_pipe2, ends, 0));
        /* One that nobody has used, of which nothing is known. */
        int file = syscall(SYS_memfd_create, "file", 0);
        number = unused++;
        CHECK(file >= 0 && syscall(SYS_dup2, file, number) == number);
        OK(syscall(SYS_close, file));
        IS(syscall(SYS_write, ends[1], many, sizeof many), sizeof many);
        if (!writes)
            IS(syscall(SYS_read, ends[0], many, sizeof many), sizeof many);
        end = ends[writes];
        pthread_t thread = start(run, writes ? many : NULL);
        AWAIT(begun);
        let_block();
        OK(pthread_cancel(thread));
        CHECK(finish(thread) == PTHREAD_CANCELED);
        if (has_twin)
            OK(close(used));
        OK(syscall(SYS_close, number));
        OK(syscall(SYS_close, ends[!writes]));
    }
}

int main(void)
{
    return on_both(test);
}
