/* pthread_create, pthread_self, pthread_equal: the id stored is what pthread_self returns in the new thread. */
#include "../check.h"

static pthread_t id;

static void *look(void *created)
{
    CHECK(!pthread_equal(pthread_self(), *(pthread_t *)created));
    id = pthread_self();
    for (int i = 0; i < 10; i++) {
        sched_yield();
        CHECK(pthread_equal(pthread_self(), id));
    }
    let_block();
    CHECK(pthread_equal(pthread_self(), id));
    return NULL;
}

static void test(void)
{
    pthread_t self = pthread_self();
    pthread_t thread = start(look, &self);
    finish(thread);
    CHECK(pthread_equal(thread, id));
    CHECK(pthread_equal(self, pthread_self()));
    CHECK(!pthread_equal(self, id));
}

int main(void)
{
    return on_both(test);
}
