/* read: from a pipe that nobody writes to: the reader is named, its place, and the descriptor. */
/* only: ours */
/* patience: 120 */
#include "hangs.h"

__attribute__((noinline)) static void *receives(void *ends)
{
    char byte;
    CHECK(read(*(int *)ends, &byte, 1) == 1);
    return ends;
}

static void hang(void)
{
    static int ends[2];
    OK(pipe(ends));
    start_named("receiver", receives, ends);
}

int main(int argc, char **argv)
{
    static const struct told told = {
        .dump = {"\"receiver\" waits for", "receives at ", "pipe_that_nobody_writes_to.c:", NULL},
    };
    return hangs(argc, argv, hang, &told);
}
