/* execv: in a thread, puts a program in the place of all that blocks the signals that the thread blocks, and no others. */
/* ends: signal 15 */
#include "../check.h"

static void *replace(void *unused)
{
    char *nothing[] = {"x", NULL}, *script[] = {"sh", "-c", "kill -TERM $$; exit 3", NULL};
    FAILS(execv("/nowhere", nothing), ENOENT);
    execv("/bin/sh", script);
    return unused;
}

int main(void)
{
    watch();
    finish(start(replace, NULL));
    return 1;
}
