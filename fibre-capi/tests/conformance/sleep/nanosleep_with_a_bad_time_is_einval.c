/* nanosleep: -1 with EINVAL for nanoseconds out of range or negative seconds. */
#include "../check.h"

static void test(void)
{
    struct timespec nap = {0, 1000000000};
    FAILS(nanosleep(&nap, NULL), EINVAL);
    nap.tv_nsec = -1;
    FAILS(nanosleep(&nap, NULL), EINVAL);
    nap = (struct timespec){-1, 0};
    FAILS(nanosleep(&nap, NULL), EINVAL);
}

int main(void)
{
    return on_both(test);
}
