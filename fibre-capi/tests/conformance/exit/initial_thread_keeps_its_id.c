/* pthread_join, pthread_detach, pthread_self: of the initial thread, whose ID nobody else gets while it lives, or after its end. */
/* ends: exit 6 */
/* flags: */
/* flags: -DFIBRE_MAIN */
/* flags: -DDETACH */
#include "../check.h"

static pthread_t initial;

/* Nobody else is the initial thread. */
static void *compare(void *unused)
{
    CHECK(!pthread_equal(initial, pthread_self()));
    return unused;
}

static void compare_many(void)
{
    for (int round = 0; round < 50; round++) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            threads[i] = start(compare, NULL);
        for (int i = 0; i < 4; i++)
            finish(threads[i]);
    }
}

static void *join_it(void *unused)
{
#ifndef DETACH
    IS((intptr_t)finish(initial), 5);
#endif
    compare_many();
    exit(6);
    return unused;
}

int main(void)
{
    watch();
    initial = pthread_self();
#ifdef DETACH
    OK(pthread_detach(initial));
#endif
    compare_many();
    CHECK(pthread_equal(initial, pthread_self()));
    OK(pthread_detach(start(join_it, NULL)));
    let_block();
    pthread_exit((void *)5);
}
