/* pthread_join, pthread_detach, pthread_cancel: ESRCH for the handle of a thread that has been joined, also when its place is used again. */
#include "../check.h"

static void *give(void *value)
{
    return value;
}

static void test(void)
{
    pthread_t ended = start(give, NULL);
    finish(ended);
    for (int round = 0; round < 50; round++) {
        IS(pthread_join(ended, NULL), ESRCH);
        IS(pthread_tryjoin_np(ended, NULL), ESRCH);
        IS(pthread_detach(ended), ESRCH);
        IS(pthread_cancel(ended), ESRCH);
        pthread_t next = start(give, (void *)1);
        CHECK(!pthread_equal(next, ended));
        IS((intptr_t)finish(next), 1);
    }
}

int main(void)
{
    return on_both(test);
}
