/* pthread_self, pthread_key_create, std::thread: a destructor of any thread is told the same name as the thread was. */
/* mutant: pthread_self() next_name() */
#include "../check.h"

#include <thread>

static pthread_key_t keys[2];
static pthread_t name;
static int told;

static inline pthread_t next_name()
{
    static pthread_t last;
    return ++last;
}

static void ask(void *value)
{
    CHECK(pthread_equal(pthread_self(), name));
    /* And in the last round, too. */
    if (++told < PTHREAD_DESTRUCTOR_ITERATIONS)
        OK(pthread_setspecific(keys[1], value));
}

static void work()
{
    name = pthread_self();
    OK(pthread_setspecific(keys[1], &name));
    OK(pthread_kill(name, 0));
}

int main()
{
    watch();
    OK(pthread_key_create(&keys[0], nullptr));
    /* Whoever asks first has its name from then on. */
    CHECK(pthread_equal(pthread_self(), pthread_self()));
    OK(pthread_key_create(&keys[1], ask));
    for (int round = 0; round < 3; round++) {
        told = 0;
        std::thread(work).join();
        IS(told, PTHREAD_DESTRUCTOR_ITERATIONS);
    }
    return 0;
}
