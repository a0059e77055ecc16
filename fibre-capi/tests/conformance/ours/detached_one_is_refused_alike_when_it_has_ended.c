/* pthread_join, pthread_detach: EINVAL for the handle of a detached thread, whether it has ended or not; pthread_cancel is ESRCH then, also when its
 * place is used again. */
#include "../check.h"

static atomic_int ended;

static void *run(void *unused)
{
    OK(pthread_detach(pthread_self()));
    ended = 1;
    return unused;
}

static void *nothing(void *unused)
{
    return unused;
}

static void test(void)
{
    int result;
    ended = 0;
    pthread_t thread = start(run, NULL);
    AWAIT(ended);
    while ((result = pthread_cancel(thread)) != ESRCH) {
        OK(result);
        IS(pthread_join(thread, NULL), EINVAL);
    }
    for (int turn = 0; turn < 100; turn++) {
        IS(pthread_join(thread, NULL), EINVAL);
        IS(pthread_tryjoin_np(thread, NULL), EINVAL);
        IS(pthread_detach(thread), EINVAL);
        IS(pthread_cancel(thread), ESRCH);
        finish(start(nothing, NULL));
    }
}

int main(void)
{
    return on_both(test);
}
