/* pthread_create, pthread_mutex_lock: C++'s own threads, locks and streams work beside those of the program. */
/* flags: -std=c++11 */
/* flags: -std=c++17 -O0 */
/* flags: -std=c++20 -D_FORTIFY_SOURCE=2 */
#include "../conformance/check.h"

#include <condition_variable>
#include <fstream>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

enum { ROUNDS = 500 };

static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
static int counted;

/* A class with members of mapped names. */
struct connection {
    int ends[2];
    ssize_t read(void *to, size_t most) { return ::read(ends[0], to, most); }
    ssize_t write(const void *from, size_t length) { return ::write(ends[1], from, length); }
    int close() { return ::close(ends[0]) + ::close(ends[1]); }
};

static void *count(void *unused)
{
    for (int round = 0; round < ROUNDS; round++) {
        OK(pthread_mutex_lock(&own_lock));
        counted++;
        OK(pthread_mutex_unlock(&own_lock));
        sched_yield();
    }
    return unused;
}

/* Threads of the program and of C++ count under one lock of the program's. */
static void shared_lock()
{
    std::vector<std::thread> threads;
    counted = 0;
    for (int i = 0; i < 3; i++)
        threads.emplace_back([] { count(nullptr); });
    pthread_t fibres[3];
    for (pthread_t &fibre : fibres)
        fibre = start(count, nullptr);
    for (std::thread &thread : threads)
        thread.join();
    for (pthread_t fibre : fibres)
        finish(fibre);
    IS(counted, 6 * ROUNDS);
}

/* C++'s condition variables and times, among C++'s threads. */
static void standard_wait()
{
    std::mutex lock;
    std::condition_variable changed;
    bool done = false;
    std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        std::lock_guard<std::mutex> held(lock);
        done = true;
        changed.notify_all();
    });
    {
        std::unique_lock<std::mutex> held(lock);
        CHECK(changed.wait_for(held, std::chrono::seconds(20), [&] { return done; }));
    }
    CHECK(other.get_id() != std::this_thread::get_id());
    other.join();
    std::timed_mutex timed;
    CHECK(timed.try_lock_for(std::chrono::seconds(1)));
    timed.unlock();
    IS(std::async(std::launch::async, [] { return 7; }).get(), 7);
}

static void streams()
{
    connection pipe_of_one;
    char byte = 0;
    OK(pipe(pipe_of_one.ends));
    std::thread writer([&] { IS(pipe_of_one.write("z", 1), 1); });
    IS(pipe_of_one.read(&byte, 1), 1);
    IS(byte, 'z');
    writer.join();
    OK(pipe_of_one.close());
    std::ifstream file("/proc/self/comm");
    file.read(&byte, 1);
    CHECK(file.good());
    file.close();
}

int main()
{
    watch();
    shared_lock();
    standard_wait();
    streams();
    return 0;
}
