/* sem_init, sem_post, sem_wait, sem_getvalue: the value starts as given, grows by posts and falls by waits. */
#include "../check.h"

static void test(void)
{
    sem_t sem;
    int value = -1;
    OK(sem_init(&sem, 0, 2));
    OK(sem_getvalue(&sem, &value));
    IS(value, 2);
    OK(sem_wait(&sem));
    OK(sem_post(&sem));
    OK(sem_post(&sem));
    OK(sem_getvalue(&sem, &value));
    IS(value, 3);
    for (int i = 0; i < 3; i++)
        OK(sem_wait(&sem));
    OK(sem_getvalue(&sem, &value));
    IS(value, 0);
    OK(sem_destroy(&sem));
}

int main(void)
{
    return on_both(test);
}
