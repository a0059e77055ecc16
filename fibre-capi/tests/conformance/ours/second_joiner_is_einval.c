/* pthread_join: EINVAL while another thread waits to join the same one. */
#include "../check.h"

static pthread_t target;
static atomic_int release, joining;

static void *linger(void *unused)
{
    AWAIT(release);
    return unused;
}

static void *join_it(void *unused)
{
    joining = 1;
    finish(target);
    return unused;
}

static void test(void)
{
    release = joining = 0;
    target = start(linger, NULL);
    pthread_t joiner = start(join_it, NULL);
    AWAIT(joining);
    let_block();
    IS(pthread_join(target, NULL), EINVAL);
    release = 1;
    finish(joiner);
}

int main(void)
{
    return on_both(test);
}
