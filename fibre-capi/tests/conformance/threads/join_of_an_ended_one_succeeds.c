/* pthread_join: a thread that has ended keeps its value until it is joined. */
#include "../check.h"

static atomic_int ended;

static void *end(void *value)
{
    ended++;
    return value;
}

static void test(void)
{
    pthread_t threads[10];
    ended = 0;
    for (intptr_t i = 0; i < 10; i++)
        threads[i] = start(end, (void *)i);
    AWAIT(ended == 10);
    let_block();
    for (int i = 9; i >= 0; i--)
        IS((intptr_t)finish(threads[i]), i);
}

int main(void)
{
    return on_both(test);
}
