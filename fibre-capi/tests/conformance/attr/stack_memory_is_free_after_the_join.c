/* pthread_attr_setstack, pthread_join: nothing touches the memory of a thread that has been joined. */
#include "../check.h"

#include <sys/mman.h>

#define SIZE (64 << 10)
#define THREADS 50

static pthread_key_t key;

static void *run(void *number)
{
    OK(pthread_setspecific(key, number));
    if ((uintptr_t)number % 3 == 0)
        sched_yield();
    if ((uintptr_t)number % 3 == 1)
        pthread_exit(number);
    return number;
}

static void end_value(void *number)
{
    if ((uintptr_t)number % 2)
        sched_yield();
}

static void test(void)
{
    pthread_attr_t attr;
    OK(pthread_key_create(&key, end_value));
    OK(pthread_attr_init(&attr));
    for (uintptr_t i = 1; i <= THREADS; i++) {
        pthread_t thread;
        void *stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(stack != MAP_FAILED);
        OK(pthread_attr_setstack(&attr, stack, SIZE));
        OK(pthread_create(&thread, &attr, run, (void *)i));
        CHECK(finish(thread) == (void *)i);
        OK(munmap(stack, SIZE));
    }
    OK(pthread_attr_destroy(&attr));
    OK(pthread_key_delete(key));
}

int main(void)
{
    return on_both(test);
}
