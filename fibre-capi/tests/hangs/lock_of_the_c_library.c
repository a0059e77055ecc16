/* A thread that waits for a lock of the C library is named, and its place, by the monitor and by the dump. */
/* only: ours */
/* patience: 120 */
/* mutant: fibre_attr_setname(...) 0 */
#include "hangs.h"

__attribute__((noinline)) static void *locks_the_output(void *unused)
{
    flockfile(stdout);
    funlockfile(stdout);
    return unused;
}

static void hang(void)
{
    flockfile(stdout);
    start_named("locker", locks_the_output, NULL);
}

int main(int argc, char **argv)
{
    static const struct told told = {
        .dump = {"\"locker\" runs, and does not let go of processor", "locks_the_output at ",
                 "lock_of_the_c_library.c:", NULL, "in the system call futex"},
        .monitor = {"fibre: processor ", "\"locker\" is blocked in futex at ", "locks_the_output",
                    "lock_of_the_c_library.c:"},
    };
    return hangs(argc, argv, hang, &told);
}
