/* pthread_setname_np, pthread_getname_np: what was set is got, of oneself and of others; names are shared by no two threads. */
#include "../check.h"

static sem_t named, looked_at;

static void *run(void *name)
{
    char is[16];
    OK(pthread_setname_np(pthread_self(), name));
    sem_post(&named);
    sem_wait(&looked_at);
    OK(pthread_getname_np(pthread_self(), is, sizeof is));
    CHECK(strcmp(is, "renamed") == 0);
    return NULL;
}

static void test(void)
{
    char is[16];
    OK(sem_init(&named, 0, 0));
    OK(sem_init(&looked_at, 0, 0));
    pthread_t one = start(run, "one"), two = start(run, "two");
    sem_wait(&named);
    sem_wait(&named);
    OK(pthread_getname_np(one, is, sizeof is));
    CHECK(strcmp(is, "one") == 0);
    OK(pthread_getname_np(two, is, sizeof is));
    CHECK(strcmp(is, "two") == 0);
    OK(pthread_setname_np(one, "renamed"));
    OK(pthread_setname_np(two, "renamed"));
    sem_post(&looked_at);
    sem_post(&looked_at);
    finish(one);
    finish(two);
}

int main(void)
{
    return on_both(test);
}
