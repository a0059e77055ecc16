/* pthread_key_create, pthread_getspecific: NULL in all threads, those that are there and those to come. */
#include "../check.h"

static pthread_key_t key;
static sem_t created, ready;

static void *look(void *unused)
{
    CHECK(pthread_getspecific(key) == NULL);
    return unused;
}

static void *look_later(void *unused)
{
    sem_post(&ready);
    sem_wait(&created);
    return look(unused);
}

static void test(void)
{
    OK(sem_init(&created, 0, 0));
    OK(sem_init(&ready, 0, 0));
    pthread_t early = start(look_later, NULL);
    sem_wait(&ready);
    OK(pthread_key_create(&key, NULL));
    look(NULL);
    sem_post(&created);
    finish(early);
    finish(start(look, NULL));
    OK(pthread_key_delete(key));
}

int main(void)
{
    return on_both(test);
}
