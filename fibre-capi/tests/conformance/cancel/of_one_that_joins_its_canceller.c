/* pthread_join, pthread_cancel: a thread that has been cancelled gives up its join, so whom it was joining may join it. */
#include "../check.h"

static pthread_t tester;
static atomic_int joining, done;

static void *run(void *unused)
{
    joining = 1;
    IS(pthread_join(tester, NULL), 77);
    return unused;
}

/* It may be in its join, on its way to it, or on its way out of it. */
static void test(void)
{
    tester = pthread_self();
    for (int turn = 0; turn < 40; turn++) {
        joining = 0;
        pthread_t thread = start(run, NULL);
        AWAIT(joining);
        if (turn % 4)
            let_block();
        OK(pthread_cancel(thread));
        if (turn % 4 == 2)
            sched_yield();
        CHECK(finish(thread) == PTHREAD_CANCELED);
    }
}

static void *test_there(void *unused)
{
    test();
    done = 1;
    return unused;
}

/* Nobody else joins the tester. */
int main(void)
{
    watch();
    test();
    role = "created thread";
    start(test_there, NULL);
    AWAIT(done);
    return 0;
}
