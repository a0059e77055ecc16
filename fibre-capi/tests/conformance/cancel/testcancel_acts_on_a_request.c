/* pthread_testcancel: ends the thread if a request is pending, else nothing happens. */
#include "../check.h"

static sem_t asked;
static atomic_int passed;

static void *run(void *unused)
{
    pthread_testcancel();
    passed++;
    OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
    OK(sem_wait(&asked));
    OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL));
    pthread_testcancel();
    CHECK(!"cancelled by now");
    return unused;
}

static void test(void)
{
    passed = 0;
    OK(sem_init(&asked, 0, 0));
    pthread_t thread = start(run, NULL);
    AWAIT(passed);
    OK(pthread_cancel(thread));
    OK(sem_post(&asked));
    CHECK(finish(thread) == PTHREAD_CANCELED);
}

int main(void)
{
    return on_both(test);
}
