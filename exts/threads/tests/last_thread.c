/* main leaves by pthread_exit, and the process ends with its last thread: a fibre, or one that asks
   for a stack of its own, and stays the kernel's. Each says when it ends, destructors of keys too. */

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_key_t key;

static void destroy(void *name)
{
    printf("%s: destroyed\n", (const char *)name);
}

/* When a thread ends: after main. */
static useconds_t of_first = 50000, of_last = 50000;

static void *end(void *name)
{
    pthread_setspecific(key, name);
    usleep(*(const char *)name == 'f' ? of_first : of_last);
    printf("%s: ends\n", (const char *)name);
    pthread_exit(NULL);
}

int main(int count, char **arguments)
{
    static char stack[1 << 18] __attribute__((aligned(4096)));
    static char first[] = "first", last[] = "last";
    pthread_attr_t attributes;
    pthread_t thread;

    *(count > 1 && strcmp(arguments[1], "fibre") == 0 ? &of_first : &of_last) = 400000;
    setvbuf(stdout, NULL, _IONBF, 0);
    if (pthread_key_create(&key, destroy) != 0 || pthread_attr_init(&attributes) != 0 ||
        pthread_attr_setstack(&attributes, stack, sizeof stack) != 0)
        return 2;
    if (pthread_create(&thread, NULL, end, first) != 0 ||
        pthread_create(&thread, &attributes, end, last) != 0)
        return 3;
    pthread_exit(NULL);
}
