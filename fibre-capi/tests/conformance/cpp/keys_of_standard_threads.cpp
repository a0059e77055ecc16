/* pthread_key_create, pthread_setspecific, std::thread: destructors are called at the end of any thread, and not if that ends the process. */
/* ends: exit 5 */
#include "../check.h"

#include <atomic>
#include <thread>

static pthread_key_t key;
static std::atomic<int> destroyed, again;
static std::atomic<bool> exiting;

static void destroy(void *value)
{
    if (exiting)
        _exit(1);
    destroyed++;
    /* Others may make another round necessary, too. */
    if (again++ % 2 == 0)
        OK(pthread_setspecific(key, value));
}

int main()
{
    watch();
    OK(pthread_key_create(&key, destroy));
    for (int round = 1; round <= 3; round++) {
        std::thread([] { OK(pthread_setspecific(key, &key)); }).join();
        IS(destroyed.load(), 2 * round);
    }
    exiting = true;
    std::thread([] {
        OK(pthread_setspecific(key, &key));
        exit(5);
    }).join();
    return 0;
}
