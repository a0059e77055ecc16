/* pthread_cond_timedwait: a deadline of the monotonic clock, long past for the realtime clock, is waited for. */
#include "../check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond;
static int told;

static void *tell(void *unused)
{
    let_block();
    OK(pthread_mutex_lock(&mutex));
    told = 1;
    OK(pthread_cond_signal(&cond));
    OK(pthread_mutex_unlock(&mutex));
    return unused;
}

static void test(void)
{
    pthread_condattr_t attr;
    told = 0;
    OK(pthread_condattr_init(&attr));
    OK(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
    OK(pthread_cond_init(&cond, &attr));
    OK(pthread_condattr_destroy(&attr));
    struct timespec late = in_ms(CLOCK_MONOTONIC, 20000);
    OK(pthread_mutex_lock(&mutex));
    pthread_t thread = start(tell, NULL);
    while (!told)
        OK(pthread_cond_timedwait(&cond, &mutex, &late));
    OK(pthread_mutex_unlock(&mutex));
    finish(thread);
    OK(pthread_cond_destroy(&cond));
}

int main(void)
{
    return on_both(test);
}
