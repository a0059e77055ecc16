/* pthread_detach: an ended thread that nobody has joined may be detached. */
#include "../check.h"

static atomic_int ended;

static void *end(void *unused)
{
    ended++;
    return unused;
}

static void test(void)
{
    pthread_t threads[10];
    ended = 0;
    for (int i = 0; i < 10; i++)
        threads[i] = start(end, NULL);
    AWAIT(ended == 10);
    let_block();
    for (int i = 0; i < 10; i++)
        OK(pthread_detach(threads[i]));
}

int main(void)
{
    return on_both(test);
}
