/* std::thread, pthread_create: the standard's threads stay the system's, ours run beside them, and both use pthread objects. */
#include "../check.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static std::mutex standard;
static std::condition_variable ready;
static std::atomic<int> standard_sum;
static bool told;
static long sum;

static void *add(void *unused)
{
    for (int round = 0; round < 500; round++) {
        OK(pthread_mutex_lock(&mutex));
        sum++;
        OK(pthread_mutex_unlock(&mutex));
        if (round % 50 == 0)
            sched_yield();
    }
    return unused;
}

int main()
{
    watch();
    std::vector<pthread_t> threads;
    for (int i = 0; i < 4; i++)
        threads.push_back(start(add, nullptr));
    std::vector<std::thread> others;
    for (int i = 0; i < 2; i++)
        others.emplace_back([] {
            std::unique_lock<std::mutex> lock(standard);
            ready.wait(lock, [] { return told; });
            standard_sum++;
            add(nullptr);
        });
    {
        std::lock_guard<std::mutex> lock(standard);
        told = true;
    }
    ready.notify_all();
    for (pthread_t thread : threads)
        finish(thread);
    for (std::thread &thread : others)
        thread.join();
    IS(sum, 6 * 500);
    IS(standard_sum.load(), 2);
    return 0;
}
