/* pthread_timedjoin_np: ETIMEDOUT at the deadline of the realtime clock, not before; the thread stays joinable. */
#include "../check.h"

static atomic_int release;

static void *linger(void *value)
{
    AWAIT(release);
    return value;
}

static void test(void)
{
    void *value = NULL;
    release = 0;
    pthread_t thread = start(linger, (void *)7);
    struct timespec soon = in_ms(CLOCK_REALTIME, 20);
    IS(pthread_timedjoin_np(thread, &value, &soon), ETIMEDOUT);
    CHECK(is_past(CLOCK_REALTIME, soon));
    release = 1;
    struct timespec late = in_ms(CLOCK_REALTIME, 20000);
    OK(pthread_timedjoin_np(thread, &value, &late));
    IS((intptr_t)value, 7);
}

int main(void)
{
    return on_both(test);
}
