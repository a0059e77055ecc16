/* main: its return destroys static objects, in reverse, though threads wait. */
/* ends: exit 5 */
#include "../check.h"

#include <vector>

static sem_t never;

struct First {
    std::vector<int> order;
    ~First() { _exit(order.size() == 1 && order[0] == 2 ? 5 : 1); }
};

static First first;

struct Second {
    ~Second() { first.order.push_back(2); }
};

static Second second;

static void *wait_for_ever(void *unused)
{
    sem_wait(&never);
    return unused;
}

int main()
{
    watch();
    OK(sem_init(&never, 0, 0));
    for (int i = 0; i < 50; i++)
        start(wait_for_ever, nullptr);
    return 0;
}
