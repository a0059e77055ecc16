/* pthread_getcpuclockid: ESRCH for a thread that has ended and has not been joined. */
#include "../check.h"

static void *nothing(void *unused)
{
    return unused;
}

static void test(void)
{
    clockid_t clock;
    pthread_t thread = start(nothing, NULL);
    int result;
    while ((result = pthread_getcpuclockid(thread, &clock)) != ESRCH) {
        CHECK(result == 0 || result == ENOENT);
        sched_yield();
    }
    finish(thread);
}

int main(void)
{
    return on_both(test);
}
