/* pthread_setspecific, pthread_key_delete: EINVAL for a key that is none. */
#include "../check.h"

static void test(void)
{
    pthread_key_t key;
    OK(pthread_key_create(&key, NULL));
    OK(pthread_key_delete(key));
    IS(pthread_key_delete(key), EINVAL);
    IS(pthread_setspecific(key, &key), EINVAL);
    IS(pthread_key_delete((pthread_key_t)0x7fffffff), EINVAL);
    IS(pthread_setspecific((pthread_key_t)0x7fffffff, &key), EINVAL);
    CHECK(pthread_getspecific((pthread_key_t)0x7fffffff) == NULL);
}

int main(void)
{
    return on_both(test);
}
