/* A thread that blocks in a system call is named, and its place, by the monitor and by the dump. */
/* only: ours */
/* patience: 120 */
/* mutant: fibre_attr_setname(...) 0 */
#include "hangs.h"

__attribute__((noinline)) static void *reads(void *ends)
{
    char byte;
    /* Past the library, as code does that was not compiled for it. */
    CHECK(syscall(SYS_read, *(int *)ends, &byte, 1) == 1);
    return ends;
}

static void hang(void)
{
    static int ends[2];
    OK(pipe(ends));
    start_named("reader", reads, ends);
}

int main(int argc, char **argv)
{
    static const struct told told = {
        .dump = {"\"reader\" runs, and does not let go of processor", "reads at ", "thread_in_a_system_call.c:",
                 NULL, "in the system call read"},
        .monitor = {"fibre: processor ", "\"reader\" is blocked in read at ", "reads",
                    "thread_in_a_system_call.c:"},
    };
    return hangs(argc, argv, hang, &told);
}
