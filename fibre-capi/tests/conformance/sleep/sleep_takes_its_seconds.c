/* sleep: returns 0 after at least the seconds asked for. */
#include "../check.h"

static void *nap(void *unused)
{
    struct timespec until = in_ms(CLOCK_MONOTONIC, 1000);
    IS(sleep(1), 0);
    CHECK(is_past(CLOCK_MONOTONIC, until));
    return unused;
}

int main(void)
{
    watch();
    IS(sleep(0), 0);
    pthread_t thread = start(nap, NULL);
    nap(NULL);
    finish(thread);
    return 0;
}
