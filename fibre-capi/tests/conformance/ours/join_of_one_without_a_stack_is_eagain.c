/* pthread_create, pthread_join: EAGAIN for a thread that got no stack, whichever of them finds out, and ESRCH once that has been said. */
#include "../check.h"
#include <sys/resource.h>

/* A stack of a size that nobody has had before. */
#define SIZE ((size_t)2 << 20)

/* Bytes of addresses that the process has. */
static size_t addresses(void)
{
    unsigned long pages;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file != NULL);
    IS(fscanf(file, "%lu", &pages), 1);
    OK(fclose(file));
    return pages * 4096;
}

static void *run(void *ran)
{
    *(int *)ran = 1;
    return ran;
}

static void test(void)
{
    struct rlimit before, lowered;
    pthread_attr_t attr;
    pthread_t thread;
    int ran = 0;
    finish(start(run, &ran));
    IS(ran, 1);
    ran = 0;
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setstacksize(&attr, SIZE));
    OK(getrlimit(RLIMIT_AS, &before));
    lowered = before;
    /* Room for small things, but not for a stack. */
    lowered.rlim_cur = addresses() + SIZE / 2;
    OK(setrlimit(RLIMIT_AS, &lowered));
    int created = pthread_create(&thread, &attr, run, &ran);
    if (created == 0) {
        void *value = &lowered;
        IS(pthread_join(thread, &value), EAGAIN);
        CHECK(value == &lowered);
        IS(pthread_join(thread, NULL), ESRCH);
    } else {
        IS(created, EAGAIN);
    }
    IS(ran, 0);
    OK(setrlimit(RLIMIT_AS, &before));
    OK(pthread_attr_destroy(&attr));
    finish(start(run, &ran));
    IS(ran, 1);
}

int main(void)
{
    return on_both(test);
}
