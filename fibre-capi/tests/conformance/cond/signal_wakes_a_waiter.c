/* pthread_cond_signal, pthread_cond_wait: a signal unblocks at least one of the threads that wait. */
#include "../check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int waiting, tokens, served;

static void *take(void *unused)
{
    OK(pthread_mutex_lock(&mutex));
    waiting++;
    while (tokens == 0)
        OK(pthread_cond_wait(&cond, &mutex));
    tokens--;
    served++;
    OK(pthread_mutex_unlock(&mutex));
    return unused;
}

static int locked_read(int *value)
{
    OK(pthread_mutex_lock(&mutex));
    int is = *value;
    OK(pthread_mutex_unlock(&mutex));
    return is;
}

static void test(void)
{
    pthread_t threads[3];
    waiting = tokens = served = 0;
    for (int i = 0; i < 3; i++)
        threads[i] = start(take, NULL);
    AWAIT(locked_read(&waiting) == 3);
    for (int i = 1; i <= 3; i++) {
        OK(pthread_mutex_lock(&mutex));
        tokens++;
        OK(pthread_cond_signal(&cond));
        OK(pthread_mutex_unlock(&mutex));
        AWAIT(locked_read(&served) == i);
    }
    for (int i = 0; i < 3; i++)
        finish(threads[i]);
}

int main(void)
{
    return on_both(test);
}
