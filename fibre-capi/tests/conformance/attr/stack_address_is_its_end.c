/* pthread_attr_setstackaddr, pthread_attr_getstackaddr: the highest address of memory that is to be the stack, of the size that is set. */
/* flags: -Wno-deprecated-declarations */
#include "../check.h"

#define SIZE (64 << 10)

static void *run(void *memory)
{
    char here;
    CHECK((char *)memory <= &here && &here < (char *)memory + SIZE);
    return memory;
}

static void test(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    void *stack = NULL;
    size_t size = 0;
    char *memory = malloc(SIZE);
    CHECK(memory);
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setstackaddr(&attr, memory + SIZE));
    OK(pthread_attr_setstacksize(&attr, SIZE));
    OK(pthread_attr_getstackaddr(&attr, &stack));
    CHECK(stack == memory + SIZE);
    OK(pthread_attr_getstack(&attr, &stack, &size));
    CHECK(stack == memory);
    IS(size, SIZE);
    OK(pthread_create(&thread, &attr, run, memory));
    CHECK(finish(thread) == memory);
    OK(pthread_attr_destroy(&attr));
    free(memory);
}

int main(void)
{
    return on_both(test);
}
