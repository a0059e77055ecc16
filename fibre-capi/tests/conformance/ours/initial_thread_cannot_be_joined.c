/* pthread_join: EINVAL for the initial thread, unless main is a fibre. */
#include "../check.h"

static pthread_t initial;

static void *join_it(void *unused)
{
    IS(pthread_join(initial, NULL), EINVAL);
    return unused;
}

int main(void)
{
    watch();
    initial = pthread_self();
    finish(start(join_it, NULL));
    return 0;
}
