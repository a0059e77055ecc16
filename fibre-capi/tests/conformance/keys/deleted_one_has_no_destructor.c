/* pthread_key_delete: no destructor is called for the key any more. */
#include "../check.h"

static pthread_key_t key;
static sem_t set_now, deleted;

static void destroy(void *value)
{
    CHECK(!value && "never called");
    CHECK(value);
}

static void *set(void *value)
{
    OK(pthread_setspecific(key, value));
    sem_post(&set_now);
    sem_wait(&deleted);
    return NULL;
}

static void test(void)
{
    OK(sem_init(&set_now, 0, 0));
    OK(sem_init(&deleted, 0, 0));
    OK(pthread_key_create(&key, destroy));
    pthread_t thread = start(set, &key);
    sem_wait(&set_now);
    OK(pthread_key_delete(key));
    sem_post(&deleted);
    finish(thread);
}

int main(void)
{
    return on_both(test);
}
