/* sem_init, sem_post: EINVAL above SEM_VALUE_MAX; a post beyond it is -1 with EOVERFLOW. */
#include "../check.h"

static void test(void)
{
    sem_t sem;
    int value = -1;
    FAILS(sem_init(&sem, 0, (unsigned)SEM_VALUE_MAX + 1), EINVAL);
    OK(sem_init(&sem, 0, SEM_VALUE_MAX));
    OK(sem_getvalue(&sem, &value));
    IS(value, SEM_VALUE_MAX);
    FAILS(sem_post(&sem), EOVERFLOW);
    OK(sem_wait(&sem));
    OK(sem_post(&sem));
    OK(sem_destroy(&sem));
}

int main(void)
{
    return on_both(test);
}
