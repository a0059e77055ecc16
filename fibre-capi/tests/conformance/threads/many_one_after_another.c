/* pthread_create, pthread_join: what an ended thread held is used again: 5,000 threads one after another. */
#include "../check.h"

static void *give(void *value)
{
    return value;
}

static void test(void)
{
    for (intptr_t i = 0; i < 5000; i++)
        IS((intptr_t)finish(start(give, (void *)i)), i);
}

int main(void)
{
    return on_both(test);
}
