/* sem_wait, sem_post, sem_trywait, sem_getvalue, sem_destroy: -1 with EINVAL for one that has been destroyed. */
#include "../check.h"

static void test(void)
{
    sem_t sem;
    int value;
    OK(sem_init(&sem, 0, 1));
    OK(sem_destroy(&sem));
    FAILS(sem_wait(&sem), EINVAL);
    FAILS(sem_trywait(&sem), EINVAL);
    FAILS(sem_post(&sem), EINVAL);
    FAILS(sem_getvalue(&sem, &value), EINVAL);
    FAILS(sem_destroy(&sem), EINVAL);
}

int main(void)
{
    return on_both(test);
}
