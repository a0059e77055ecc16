/* abort: in any thread ends the program by SIGABRT. */
#include "../check.h"

/* ends: signal 6 */

static void *run(void *unused)
{
    abort();
    return unused;
}

int main(void)
{
    watch();
    finish(start(run, NULL));
    return 0;
}
