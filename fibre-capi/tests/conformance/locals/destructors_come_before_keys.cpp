/* pthread_join, pthread_key_create: a thread's end destroys its thread_local objects, the last one first, then its values of keys; a join sees all. */
#include "../check.h"
/* with: FIBRE_THREAD_LOCALS=own */
/* flags: -std=c++17 */
/* mutant: thread_local static */

static pthread_key_t key;

/* What a thread's end has done, in order. */
struct Order {
    char steps[8];
    int length;
    void add(char step)
    {
        sched_yield();
        steps[length++] = step;
    }
};

struct Object {
    char name;
    Order *order = nullptr;
    ~Object()
    {
        if (!order)
            return;
        CHECK(pthread_getspecific(key) == order);
        usleep(50);
        order->add(name);
    }
};

static void end_value(void *value)
{
    auto order = static_cast<Order *>(value);
    order->add('k');
    if (order->length < 5)
        OK(pthread_setspecific(key, order));
}

static void *run(void *argument)
{
    thread_local Object first{'1'};
    first.order = static_cast<Order *>(argument);
    thread_local Object second{'2'};
    second.order = first.order;
    OK(pthread_setspecific(key, argument));
    sched_yield();
    if (first.order->length < 0)
        return nullptr;
    pthread_exit(nullptr);
}

static void test()
{
    OK(pthread_key_create(&key, end_value));
    for (int round = 0; round < 3; round++) {
        Order orders[10] = {};
        pthread_t threads[10];
        for (int i = 0; i < 10; i++)
            threads[i] = start(run, &orders[i]);
        for (int i = 0; i < 10; i++) {
            finish(threads[i]);
            IS(orders[i].length, 5);
            OK(memcmp(orders[i].steps, "21kkk", 5));
        }
    }
    OK(pthread_key_delete(key));
}

int main()
{
    return on_both(test);
}
