/* pthread_attr_setstack, pthread_getattr_np: the thread runs on the memory that it was given, in cleanup handlers, too, and is told so. */
#include "../check.h"

#define SIZE (256 << 10)

static char *memory;
static int cleaned;

static int is_inside(const void *address)
{
    return memory <= (const char *)address && (const char *)address < memory + SIZE;
}

static void clean_up(void *unused)
{
    char here;
    (void)unused;
    cleaned += is_inside(&here);
}

/* Uses this much of it. */
static int deep(int depth)
{
    volatile char room[1000];
    room[0] = (char)depth;
    CHECK(is_inside((const void *)room));
    return depth ? deep(depth - 1) + room[0] - (char)depth : 7;
}

static void *run(void *exits)
{
    pthread_attr_t attr;
    void *low = NULL;
    size_t size = 0;
    char here;
    CHECK(is_inside(&here));
    OK(pthread_getattr_np(pthread_self(), &attr));
    OK(pthread_attr_getstack(&attr, &low, &size));
    CHECK(memory <= (char *)low && (char *)low + size <= memory + SIZE);
    CHECK((char *)low <= &here && &here < (char *)low + size);
    OK(pthread_attr_destroy(&attr));
    let_block();
    IS(deep(100), 7);
    pthread_cleanup_push(clean_up, NULL);
    if (exits)
        pthread_exit(memory);
    pthread_cleanup_pop(1);
    return memory;
}

static void test(void)
{
    pthread_attr_t attr;
    memory = malloc(SIZE);
    CHECK(memory);
    cleaned = 0;
    OK(pthread_attr_init(&attr));
    /* Any address will do. */
    OK(pthread_attr_setstack(&attr, memory, SIZE));
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        OK(pthread_create(&thread, &attr, run, i % 2 ? memory : NULL));
        CHECK(finish(thread) == memory);
        IS(cleaned, i + 1);
    }
    OK(pthread_attr_destroy(&attr));
    free(memory);
}

int main(void)
{
    return on_both(test);
}
