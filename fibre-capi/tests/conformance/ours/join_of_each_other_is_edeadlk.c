/* pthread_join: EDEADLK if the thread waits for the end of the caller. */
#include "../check.h"

static pthread_t creator;
static sem_t done;

static void *join_creator(void *unused)
{
    until_all_block();
    IS(pthread_join(creator, NULL), EDEADLK);
    return unused;
}

static void *join_created(void *unused)
{
    creator = pthread_self();
    OK(pthread_join(start(join_creator, NULL), NULL));
    OK(sem_post(&done));
    return unused;
}

int main(void)
{
    watch();
    OK(sem_init(&done, 0, 0));
    pthread_t thread = start(join_created, NULL);
    /* Not joined before: then the creator would have a joiner. */
    OK(sem_wait(&done));
    finish(thread);
    return 0;
}
