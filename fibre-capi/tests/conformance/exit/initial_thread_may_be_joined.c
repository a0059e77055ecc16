/* pthread_exit, pthread_join: the initial thread is a thread as others are: it can be joined, and its value is kept. */
#include "../check.h"

/* ends: exit 6 */

static pthread_t initial;

static void *join_it(void *unused)
{
    IS((intptr_t)finish(initial), 5);
    exit(6);
    return unused;
}

int main(void)
{
    watch();
    initial = pthread_self();
    OK(pthread_detach(start(join_it, NULL)));
    let_block();
    pthread_exit((void *)5);
}
