/* pthread_detach: the thread runs on to its end, from wherever it is detached. */
#include "../check.h"

static atomic_int ended;

static void *run(void *itself)
{
    if (itself)
        OK(pthread_detach(pthread_self()));
    let_block();
    ended++;
    return NULL;
}

static void test(void)
{
    ended = 0;
    for (int i = 0; i < 20; i++) {
        pthread_t thread = start(run, (void *)(intptr_t)(i % 2));
        if (i % 2 == 0)
            OK(pthread_detach(thread));
    }
    AWAIT(ended == 20);
}

int main(void)
{
    return on_both(test);
}
