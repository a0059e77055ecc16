/* pthread_exit: of the initial thread lets the others run on; after the last one the program exits with 0. */
#include "../check.h"

static atomic_int ended;

static void at_exit(void)
{
    if (ended != 10)
        _exit(1);
}

static void *run(void *unused)
{
    let_block();
    ended++;
    return unused;
}

int main(void)
{
    watch();
    OK(atexit(at_exit));
    for (int i = 0; i < 10; i++)
        OK(pthread_detach(start(run, NULL)));
    pthread_exit((void *)5);
}
