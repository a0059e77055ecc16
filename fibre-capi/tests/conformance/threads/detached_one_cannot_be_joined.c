/* pthread_detach, pthread_join: EINVAL for joining or detaching a thread that is detached. */
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
    release = ended = 0;
    pthread_t thread = start(linger, NULL);
    OK(pthread_detach(thread));
    IS(pthread_join(thread, NULL), EINVAL);
    IS(pthread_detach(thread), EINVAL);
    release = 1;
    AWAIT(ended);
}

int main(void)
{
    return on_both(test);
}
