/* pthread_join: does not return before the thread has ended. */
#include "../check.h"

static atomic_int ended;

static void *linger(void *unused)
{
    let_block();
    let_block();
    ended = 1;
    return unused;
}

static void test(void)
{
    ended = 0;
    OK(pthread_join(start(linger, NULL), NULL));
    IS(ended, 1);
}

int main(void)
{
    return on_both(test);
}
