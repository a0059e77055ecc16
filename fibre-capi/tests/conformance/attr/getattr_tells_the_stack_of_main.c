/* pthread_getattr_np, pthread_attr_getstack, pthread_attr_getguardsize: where the stack of the initial thread lies, which can be used down to its
 * lowest byte, for itself and for others. */
/* flags: -O2 */
/* flags: -DFIBRE_MAIN */
#include "../check.h"

#include <sys/resource.h>

static pthread_t main_thread;

/* Writes to so many bytes below, a page at a time. */
static __attribute__((noinline)) void use(size_t bytes)
{
    volatile char place[4096];
    place[0] = 1;
    if (bytes > sizeof place)
        use(bytes - sizeof place);
    place[4095] = place[0];
}

static size_t look(pthread_t thread, char *inside)
{
    pthread_attr_t attr;
    void *low = NULL;
    size_t size = 0, guard = 0;
    OK(pthread_getattr_np(thread, &attr));
    OK(pthread_attr_getstack(&attr, &low, &size));
    OK(pthread_attr_getguardsize(&attr, &guard));
    CHECK((char *)low <= inside && inside < (char *)low + size);
    OK(pthread_attr_destroy(&attr));
    return inside - (char *)low;
}

static void *look_from_elsewhere(void *inside)
{
    if (pthread_equal(pthread_self(), main_thread))
        return NULL;
    CHECK(look(main_thread, inside) > 64 << 10);
    return NULL;
}

/* Where another fibre's stack lies is not told: so with `main` as one, only that asks. */
int main(void)
{
    watch();
    char here = 0;
    struct rlimit limit;
    main_thread = pthread_self();
    size_t left = look(main_thread, &here);
    OK(getrlimit(RLIMIT_STACK, &limit));
    CHECK(limit.rlim_cur == RLIM_INFINITY || left <= limit.rlim_cur + 65536);
    CHECK(left > 1 << 20);
    use(1 << 20);
#ifndef FIBRE_MAIN
    finish(start(look_from_elsewhere, &here));
#else
    look_from_elsewhere(&here);
#endif
    return 0;
}
