/* pthread_exit: of the initial thread calls its cleanup handlers and the destructors of its keys, before the program exits. */
#include "../check.h"

static atomic_int steps;
static pthread_key_t key;

static void at_exit(void)
{
    if (steps != 2)
        _exit(1);
}

static void clean(void *unused)
{
    (void)unused;
    IS(steps++, 0);
}

static void destroy(void *unused)
{
    (void)unused;
    IS(steps++, 1);
}

int main(void)
{
    watch();
    OK(atexit(at_exit));
    OK(pthread_key_create(&key, destroy));
    OK(pthread_setspecific(key, &key));
    pthread_cleanup_push(clean, NULL);
    pthread_exit(NULL);
    pthread_cleanup_pop(0);
    return 0;
}
