/* When every processor is stuck, each of the threads that keep them is named. */
/* only: ours */
/* patience: 120 */
/* mutant: fibre_attr_setname(...) 0 */
#include "hangs.h"

/* As many as there may be processors. */
#define HOGS 4

static volatile int goes_on = 1;

__attribute__((noinline)) static void *spins(void *unused)
{
    while (goes_on)
        ;
    return unused;
}

static void hang(void)
{
    const char *processors = getenv("FIBRE_PROCESSORS");
    int count = processors ? atoi(processors) : 2;
    CHECK(count > 0 && count <= HOGS);
    for (int hog = 0; hog < count; hog++)
        start_named("hog", spins, NULL);
}

int main(int argc, char **argv)
{
    static const struct told told = {
        .dump = {"\"hog\" runs, and does not let go of processor", "spins at ", "all_processors_are_stuck.c:",
                 NULL, "processor 0 (thread ", "has not switched for 20 ms or more: on a CPU"},
        .monitor = {"fibre: processor ", " has not switched for ", "\"hog\" computes at spins",
                    "all_processors_are_stuck.c:"},
    };
    return hangs(argc, argv, hang, &told);
}
