/* pthread_join: EINVAL while another thread waits to join the same one. */
#include "../check.h"

static pthread_t target;
static sem_t release;
static atomic_int joining;

static void *linger(void *unused)
{
    OK(sem_wait(&release));
    return unused;
}

static void *join_it(void *unused)
{
    joining = 1;
    finish(target);
    return unused;
}

static void test(void)
{
    joining = 0;
    OK(sem_init(&release, 0, 0));
    target = start(linger, NULL);
    pthread_t joiner = start(join_it, NULL);
    AWAIT(joining);
    until_all_block();
    IS(pthread_join(target, NULL), EINVAL);
    OK(sem_post(&release));
    finish(joiner);
}

int main(void)
{
    return on_both(test);
}
