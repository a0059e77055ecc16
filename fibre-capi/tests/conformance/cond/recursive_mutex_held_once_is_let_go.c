/* pthread_cond_wait: works with a recursive mutex that is held once. */
#include "../check.h"

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int told;

static void *tell(void *unused)
{
    OK(pthread_mutex_lock(&mutex));
    told = 1;
    OK(pthread_cond_signal(&cond));
    OK(pthread_mutex_unlock(&mutex));
    return unused;
}

static void test(void)
{
    told = 0;
    OK(pthread_mutex_lock(&mutex));
    pthread_t thread = start(tell, NULL);
    while (!told)
        OK(pthread_cond_wait(&cond, &mutex));
    OK(pthread_mutex_lock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    OK(pthread_mutex_unlock(&mutex));
    IS(pthread_mutex_unlock(&mutex), EPERM);
    finish(thread);
}

int main(void)
{
    return on_both(test);
}
