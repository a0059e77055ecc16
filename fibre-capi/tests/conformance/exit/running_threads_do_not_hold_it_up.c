/* exit: ends the program while threads compute without a pause. */
#include "../check.h"

/* ends: exit 4 */

static atomic_int computing;

static void *compute(void *unused)
{
    computing++;
    for (volatile unsigned long i = 0;; i++)
        ;
    return unused;
}

int main(void)
{
    watch();
    start(compute, NULL);
    AWAIT(computing == 1);
    exit(4);
}
