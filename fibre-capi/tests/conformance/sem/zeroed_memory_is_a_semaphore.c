/* sem_t: zeroed memory is a semaphore of value 0, as programs that skip sem_init assume. */
#include "../check.h"

static sem_t sem;

static void *post_it(void *unused)
{
    OK(sem_post(&sem));
    return unused;
}

static void test(void)
{
    FAILS(sem_trywait(&sem), EAGAIN);
    pthread_t thread = start(post_it, NULL);
    OK(sem_wait(&sem));
    finish(thread);
}

int main(void)
{
    return on_both(test);
}
