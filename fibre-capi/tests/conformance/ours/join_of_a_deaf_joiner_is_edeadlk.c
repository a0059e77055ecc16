/* pthread_join, pthread_cancel: two would wait for each other for ever if the one that is joining does not notice that it is cancelled. */
#include "../check.h"

static pthread_t tester;
static atomic_int joining, joined;

static void join_tester(void *unused)
{
    (void)unused;
    joining = 1;
    OK(pthread_join(tester, NULL));
    joined++;
}

/* It has said so, or is in a cleanup handler. */
static void *run(void *tidies_up)
{
    if (tidies_up) {
        pthread_cleanup_push(join_tester, NULL);
        OK(pthread_cancel(pthread_self()));
        pthread_testcancel();
        pthread_cleanup_pop(0);
    }
    OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
    join_tester(NULL);
    return NULL;
}

static void *test(void *tidies_up)
{
    tester = pthread_self();
    joining = 0;
    pthread_t thread = start(run, tidies_up);
    AWAIT(joining);
    let_block();
    OK(pthread_cancel(thread));
    IS(pthread_join(thread, NULL), EDEADLK);
    OK(pthread_detach(thread));
    return NULL;
}

int main(void)
{
    watch();
    for (int i = 0; i < 2; i++) {
        start(test, i ? &joining : NULL);
        AWAIT(joined > i);
    }
    return 0;
}
