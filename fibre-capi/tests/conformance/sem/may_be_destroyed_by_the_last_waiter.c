/* sem_post: who has taken what was posted may destroy and free the semaphore at once. */
#include "../check.h"

static void *post_it(void *sem)
{
    OK(sem_post(sem));
    return NULL;
}

static void test(void)
{
    for (int round = 0; round < 200; round++) {
        sem_t *sem = malloc(sizeof *sem);
        OK(sem_init(sem, 0, 0));
        pthread_t thread = start(post_it, sem);
        OK(sem_wait(sem));
        OK(sem_destroy(sem));
        memset(sem, 0xa5, sizeof *sem);
        free(sem);
        finish(thread);
    }
}

int main(void)
{
    return on_both(test);
}
