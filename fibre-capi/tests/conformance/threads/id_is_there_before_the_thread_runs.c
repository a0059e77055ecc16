/* pthread_create: the new thread finds its ID where the creator wanted it, and may change that place. */
#include "../check.h"

static pthread_t place;
static atomic_int done;

static void *run(void *none)
{
    CHECK(pthread_equal(place, pthread_self()));
    memset(&place, 0, sizeof place);
    done = 1;
    return none;
}

static void test(void)
{
    pthread_attr_t attr;
    pthread_t none;
    memset(&none, 0, sizeof none);
    OK(pthread_attr_init(&attr));
    OK(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED));
    for (int round = 0; round < 500; round++) {
        place = none;
        done = 0;
        OK(pthread_create(&place, &attr, run, NULL));
        AWAIT(done);
        CHECK(pthread_equal(place, none));
    }
    OK(pthread_attr_destroy(&attr));
}

int main(void)
{
    return on_both(test);
}
