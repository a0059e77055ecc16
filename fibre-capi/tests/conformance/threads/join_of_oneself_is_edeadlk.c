/* pthread_join: EDEADLK for the caller itself. */
#include "../check.h"

static void *join_itself(void *unused)
{
    IS(pthread_join(pthread_self(), NULL), EDEADLK);
    return unused;
}

static void test(void)
{
    join_itself(NULL);
    finish(start(join_itself, NULL));
}

int main(void)
{
    return on_both(test);
}
