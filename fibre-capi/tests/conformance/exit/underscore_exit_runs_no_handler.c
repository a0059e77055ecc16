/* _exit: ends the program at once, without the handlers of atexit. */
#include "../check.h"

/* ends: exit 9 */

static void at_exit(void)
{
    _exit(1);
}

static void *run(void *unused)
{
    _exit(9);
    return unused;
}

int main(void)
{
    watch();
    OK(atexit(at_exit));
    finish(start(run, NULL));
    return 0;
}
