/* pthread_attr_setdetachstate, pthread_create: a thread created detached runs, and joining it is EINVAL. */
#include "../check.h"

static atomic_int release, ended;

static void *linger(void *unused)
{
    AWAIT(release);
    ended = 1;
    return unused;
}

static void test(void)
{
    pthread_attr_t attr;
    pthread_t thread;
    release = ended = 0;
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED));
    OK(pthread_create(&thread, &attr, linger, NULL));
    OK(pthread_attr_destroy(&attr));
    IS(pthread_join(thread, NULL), EINVAL);
    IS(pthread_detach(thread), EINVAL);
    release = 1;
    AWAIT(ended);
}

int main(void)
{
    return on_both(test);
}
