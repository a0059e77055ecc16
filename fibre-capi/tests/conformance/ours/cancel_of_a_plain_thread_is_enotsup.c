/* pthread_cancel: ENOTSUP for a plain thread, which goes on; ESRCH for one that has ended. */
#include "../check.h"

static void *lives(void *unused)
{
    return unused;
}

static void *cancels(void *target)
{
    IS(pthread_cancel(*(pthread_t *)target), ENOTSUP);
    return NULL;
}

int main(void)
{
    watch();
    /* Here the initial thread is no fibre. */
    pthread_t initial = pthread_self();
    IS(pthread_cancel(initial), ENOTSUP);
    finish(start(cancels, &initial));
    pthread_testcancel();

    pthread_t ended = start(lives, NULL);
    finish(ended);
    IS(pthread_cancel(ended), ESRCH);
    return 0;
}
