/* pthread_setspecific: a value that a library sets which is not compiled with the header is the thread's own, too, and ends with it. */
#include "../check.h"
/* with: FIBRE_THREAD_LOCALS=own */
#include <dlfcn.h>

static int (*make)(pthread_key_t *, void (*)(void *));
static int (*set)(pthread_key_t, const void *);
static void *(*get)(pthread_key_t);

static pthread_key_t mine, theirs;
static atomic_int ended[2];

static void end_mine(void *value)
{
    ended[0] += (int)(intptr_t)value;
    /* The other kind is there: in a thread, keys end in the order of their numbers. */
    CHECK(get(theirs) == value);
    sched_yield();
}

static void end_theirs(void *value)
{
    ended[1] += (int)(intptr_t)value;
    sched_yield();
}

static void *run(void *value)
{
    CHECK(!get(theirs));
    OK(set(theirs, value));
    OK(pthread_setspecific(mine, value));
    for (int round = 0; round < 10; round++) {
        usleep(50);
        CHECK(get(theirs) == value);
        CHECK(pthread_getspecific(mine) == value);
    }
    return value;
}

static void test(void)
{
    *(void **)&make = dlsym(RTLD_DEFAULT, "pthread_key_create");
    *(void **)&set = dlsym(RTLD_DEFAULT, "pthread_setspecific");
    *(void **)&get = dlsym(RTLD_DEFAULT, "pthread_getspecific");
    OK(pthread_key_create(&mine, end_mine));
    OK(make(&theirs, end_theirs));
    ended[0] = ended[1] = 0;
    pthread_t threads[20];
    for (intptr_t i = 0; i < 20; i++)
        threads[i] = start(run, (void *)(i + 1));
    for (int i = 0; i < 20; i++)
        finish(threads[i]);
    IS(ended[0], 210);
    IS(ended[1], 210);
}

int main(void)
{
    return on_both(test);
}
