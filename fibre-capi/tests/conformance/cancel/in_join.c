/* pthread_join: a cancellation point; the thread that was to be joined stays joinable. */
#include "../check.h"

static pthread_t target;
static atomic_int release, joining;

static void *linger(void *value)
{
    AWAIT(release);
    return value;
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
    target = start(linger, (void *)42);
    pthread_t joiner = start(join_it, NULL);
    AWAIT(joining);
    let_block();
    OK(pthread_cancel(joiner));
    CHECK(finish(joiner) == PTHREAD_CANCELED);
    release = 1;
    IS((intptr_t)finish(target), 42);
}

int main(void)
{
    return on_both(test);
}
