/* pthread_join: stores what the routine returned; a null pointer stores nothing. */
#include "../check.h"

static void *give(void *value)
{
    return value;
}

static void test(void)
{
    for (intptr_t i = -3; i < 4; i++) {
        void *value = (void *)99;
        OK(pthread_join(start(give, (void *)i), &value));
        IS((intptr_t)value, i);
    }
    OK(pthread_join(start(give, (void *)1), NULL));
}

int main(void)
{
    return on_both(test);
}
