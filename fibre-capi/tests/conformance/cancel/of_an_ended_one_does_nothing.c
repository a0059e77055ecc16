/* pthread_cancel: 0 for a thread that has ended and is not joined yet; its value stays. */
#include "../check.h"

static atomic_int ended;

static void *run(void *value)
{
    ended = 1;
    return value;
}

static void test(void)
{
    ended = 0;
    pthread_t thread = start(run, (void *)42);
    AWAIT(ended);
    let_block();
    OK(pthread_cancel(thread));
    IS((intptr_t)finish(thread), 42);
}

int main(void)
{
    return on_both(test);
}
