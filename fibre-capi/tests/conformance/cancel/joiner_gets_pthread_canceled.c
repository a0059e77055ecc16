/* pthread_cancel, pthread_join: a cancelled thread's value is PTHREAD_CANCELED. */
#include "../check.h"

static void *wait_for_ever(void *unused)
{
    for (;;)
        sleep(WATCHDOG);
    return unused;
}

static void test(void)
{
    for (int i = 0; i < 10; i++) {
        pthread_t thread = start(wait_for_ever, NULL);
        if (i % 2)
            let_block();
        OK(pthread_cancel(thread));
        CHECK(finish(thread) == PTHREAD_CANCELED);
    }
}

int main(void)
{
    return on_both(test);
}
