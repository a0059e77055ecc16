/* pthread_create: the routine is called once, with the argument. */
#include "../check.h"

static atomic_int calls;

static void *look(void *argument)
{
    calls++;
    IS((intptr_t)argument, 0x123456789abcL);
    return NULL;
}

static void test(void)
{
    calls = 0;
    finish(start(look, (void *)0x123456789abcL));
    IS(calls, 1);
}

int main(void)
{
    return on_both(test);
}
