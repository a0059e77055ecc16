/* pthread_exit: called in main, it lets the other threads end before the process does, with 0; its handlers run. */
/* flags: -DFIBRE_MAIN */
/* flags: */
#include "../conformance/check.h"

static atomic_int released;

static void *last(void *unused)
{
    AWAIT(released);
    puts("last");
    return unused;
}

static void release(void *unused)
{
    (void)unused;
    released = 1;
}

int main(void)
{
    watch();
    start(last, NULL);
    pthread_cleanup_push(release, NULL);
    pthread_exit(NULL);
    pthread_cleanup_pop(0);
    return 9;
}
