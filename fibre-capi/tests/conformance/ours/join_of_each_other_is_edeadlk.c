/* pthread_join: EDEADLK if the thread waits for the end of the caller. */
#include "../check.h"

static pthread_t creator;

static void *join_creator(void *unused)
{
    let_block();
    IS(pthread_join(creator, NULL), EDEADLK);
    return unused;
}

static void *join_created(void *unused)
{
    creator = pthread_self();
    OK(pthread_join(start(join_creator, NULL), NULL));
    return unused;
}

int main(void)
{
    watch();
    finish(start(join_created, NULL));
    return 0;
}
