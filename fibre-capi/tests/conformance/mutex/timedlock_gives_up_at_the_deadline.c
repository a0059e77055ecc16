/* pthread_mutex_timedlock: ETIMEDOUT at the deadline of the realtime clock, not before. */
#include "../check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *wait_for_it(void *unused)
{
    struct timespec soon = in_ms(CLOCK_REALTIME, 30);
    IS(pthread_mutex_timedlock(&mutex, &soon), ETIMEDOUT);
    CHECK(is_past(CLOCK_REALTIME, soon));
    return unused;
}

static void test(void)
{
    OK(pthread_mutex_lock(&mutex));
    finish(start(wait_for_it, NULL));
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
}

int main(void)
{
    return on_both(test);
}
