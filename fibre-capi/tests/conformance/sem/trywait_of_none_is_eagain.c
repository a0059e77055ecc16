/* sem_trywait: -1 with EAGAIN if the value is 0, else takes one. */
#include "../check.h"

static void test(void)
{
    sem_t sem;
    OK(sem_init(&sem, 0, 1));
    OK(sem_trywait(&sem));
    FAILS(sem_trywait(&sem), EAGAIN);
    FAILS(sem_trywait(&sem), EAGAIN);
    OK(sem_post(&sem));
    OK(sem_trywait(&sem));
    OK(sem_destroy(&sem));
}

int main(void)
{
    return on_both(test);
}
