/* pthread_key_create, pthread_key_delete: a key created after one was deleted is NULL, whatever that one was. */
#include "../check.h"

static void test(void)
{
    for (int round = 0; round < 100; round++) {
        pthread_key_t key;
        OK(pthread_key_create(&key, NULL));
        CHECK(pthread_getspecific(key) == NULL);
        OK(pthread_setspecific(key, &round));
        CHECK(pthread_getspecific(key) == &round);
        OK(pthread_key_delete(key));
    }
}

int main(void)
{
    return on_both(test);
}
