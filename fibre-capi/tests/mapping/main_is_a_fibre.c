/* main: with the switch it is the first fibre, with its arguments, its environment and a stack of its size; what it returns is the exit code. */
/* only: ours */
/* flags: -DFIBRE_MAIN */
/* flags: -DFIBRE_MAIN -O0 -flto */
/* with: FIBRE_TEST_ROLE=first */
/* ends: exit 7 */
#include "../conformance/check.h"

/* Goes down by about a megabyte. */
static int deep(int frames)
{
    volatile char frame[1024];
    frame[0] = (char)frames;
    return frames == 0 ? frame[0] : deep(frames - 1) + frame[0] - (char)frames;
}

static void *answer(void *unused)
{
    return unused;
}

int main(int argc, char **argv, char **environment)
{
    watch();
    IS(argc, 1);
    CHECK(argv[0] && !argv[1]);
    CHECK(environment == environ);
    OK(strcmp(getenv("FIBRE_TEST_ROLE"), "first"));
    /* Not on the thread that the process began with. */
    CHECK(syscall(SYS_gettid) != getpid());
    finish(start(answer, NULL));
    return 7 + deep(4000);
}
