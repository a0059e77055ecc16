/* raise: a signal that ends the program does so before the call returns. */
#include "../check.h"
/* ends: signal 15 */

static void *raise_it(void *unused)
{
    OK(raise(SIGTERM));
    end_with("the call has returned\n");
    return unused;
}

int main(void)
{
    watch();
    finish(start(raise_it, NULL));
    return 0;
}
