/* pthread_setcancelstate: while disabled, requests are kept, and calls that block are not ended by them. */
#include "../check.h"

static sem_t asked;
static atomic_int passed;

static void *run(void *unused)
{
    int old = -1;
    OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
    IS(old, PTHREAD_CANCEL_ENABLE);
    OK(sem_wait(&asked));
    pthread_testcancel();
    OK(usleep(2000));
    passed = 1;
    OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
    IS(old, PTHREAD_CANCEL_DISABLE);
    for (;;)
        usleep(1000);
    return unused;
}

static void test(void)
{
    passed = 0;
    OK(sem_init(&asked, 0, 0));
    pthread_t thread = start(run, NULL);
    let_block();
    OK(pthread_cancel(thread));
    OK(sem_post(&asked));
    CHECK(finish(thread) == PTHREAD_CANCELED);
    IS(passed, 1);
}

int main(void)
{
    return on_both(test);
}
