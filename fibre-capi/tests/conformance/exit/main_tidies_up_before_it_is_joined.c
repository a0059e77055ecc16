/* pthread_exit: of the initial thread calls its destructors at once, while others go on, and before it can be joined. */
/* ends: exit 6 */
/* flags: */
/* flags: -DFIBRE_MAIN */
#include "../check.h"

static pthread_t initial;
static pthread_key_t key;
static atomic_int destroyed;

static void destroy(void *unused)
{
    (void)unused;
    destroyed = 1;
}

static void *join_it(void *unused)
{
    AWAIT(destroyed);
    IS((intptr_t)finish(initial), 5);
    exit(6);
    return unused;
}

int main(void)
{
    watch();
    initial = pthread_self();
    OK(pthread_key_create(&key, destroy));
    OK(pthread_setspecific(key, &key));
    OK(pthread_detach(start(join_it, NULL)));
    pthread_exit((void *)5);
}
