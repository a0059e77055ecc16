/* A thread that spins is named, and its place, by the monitor and by the dump. */
/* only: ours */
/* patience: 120 */
/* mutant: fibre_attr_setname(...) 0 */
#include "hangs.h"

static volatile int goes_on = 1;

__attribute__((noinline)) static void *spins(void *unused)
{
    while (goes_on)
        ;
    return unused;
}

static void hang(void)
{
    start_named("hog", spins, NULL);
}

int main(int argc, char **argv)
{
    static const struct told told = {
        .dump = {"\"hog\" runs, and does not let go of processor", "spins at ", "thread_that_spins.c:", NULL,
                 "has not switched for 20 ms or more: on a CPU"},
        .monitor = {"fibre: processor ", " has not switched for ", "\"hog\" computes at spins",
                    "thread_that_spins.c:"},
    };
    return hangs(argc, argv, hang, &told);
}
