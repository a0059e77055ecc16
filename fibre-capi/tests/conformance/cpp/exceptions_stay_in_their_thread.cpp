/* pthread_create: exceptions thrown and caught in a thread, with destructors that run, while it waits in between. */
#include "../check.h"

#include <stdexcept>
#include <string>

static sem_t destroyed;

struct Guard {
    ~Guard() { OK(sem_post(&destroyed)); }
};

static void dive(int depth)
{
    Guard guard;
    sched_yield();
    if (depth == 0)
        throw std::runtime_error("at the bottom");
    dive(depth - 1);
    usleep(1);
}

static void *run(void *number)
{
    std::string name(100, static_cast<char>('a' + reinterpret_cast<intptr_t>(number)));
    for (int round = 0; round < 10; round++) {
        try {
            dive(5);
            CHECK(!"thrown by now");
        } catch (const std::runtime_error &error) {
            sched_yield();
            CHECK(std::string(error.what()) == "at the bottom");
        }
        CHECK(name == std::string(100, static_cast<char>('a' + reinterpret_cast<intptr_t>(number))));
    }
    return nullptr;
}

int main()
{
    watch();
    int value = 0;
    pthread_t threads[8];
    OK(sem_init(&destroyed, 0, 0));
    for (intptr_t i = 0; i < 8; i++)
        threads[i] = start(run, reinterpret_cast<void *>(i));
    for (pthread_t thread : threads)
        finish(thread);
    OK(sem_getvalue(&destroyed, &value));
    IS(value, 8 * 10 * 6);
    return 0;
}
