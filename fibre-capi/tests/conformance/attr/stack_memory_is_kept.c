/* pthread_attr_setstack, pthread_attr_getstack: the memory is kept, with its size; too little is EINVAL. */
#include "../check.h"

#define SIZE (64 << 10)

static void test(void)
{
    pthread_attr_t attr;
    void *stack = NULL, *memory = malloc(SIZE);
    size_t size = 0;
    CHECK(memory);
    OK(pthread_attr_init(&attr));
    IS(pthread_attr_setstack(&attr, memory, PTHREAD_STACK_MIN - 1), EINVAL);
    OK(pthread_attr_setstack(&attr, memory, SIZE));
    OK(pthread_attr_getstack(&attr, &stack, &size));
    CHECK(stack == memory);
    IS(size, SIZE);
    size = 0;
    OK(pthread_attr_getstacksize(&attr, &size));
    IS(size, SIZE);
    /* What is refused changes nothing. */
    IS(pthread_attr_setstack(&attr, (char *)memory + 16, PTHREAD_STACK_MIN - 1), EINVAL);
    OK(pthread_attr_getstack(&attr, &stack, &size));
    CHECK(stack == memory);
    OK(pthread_attr_destroy(&attr));
    free(memory);
}

int main(void)
{
    return on_both(test);
}
