/* pthread_detach: of the one that runs main; what main returns is the exit code all the same. */
/* ends: exit 7 */
/* flags: */
/* flags: -DFIBRE_MAIN */
#include "../check.h"

static void *run(void *unused)
{
    return unused;
}

int main(void)
{
    watch();
    OK(pthread_detach(pthread_self()));
    finish(start(run, NULL));
    return 7;
}
