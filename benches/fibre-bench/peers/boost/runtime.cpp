//! How the threads start, and what they do while there is nothing to do.
//!
//! One thread has the library's default scheduler. Several share their fibres
//! with its work stealing, and sleep when they find nothing to steal
//! (`suspend`); by default they would spin. The library wakes a thread that
//! sleeps only for its own fibres, not when there is something to steal again.
//! So where a set of fibres exists from the start, it is spread over the
//! threads. Elsewhere the others mostly sleep, which costs a ping-pong nothing
//! and a tree of fibres now and then its second processor. Threads that wake
//! every millisecond to steal were tried: they help the tree, but tear the pairs
//! of the ping-pongs apart, and a round trip then takes more than ten times as
//! long.

#include "runtime.hpp"

#include <malloc.h>

#include <climits>
#include <cstdint>
#include <deque>
#include <exception>
#include <thread>
#include <vector>

#include <boost/fiber/algo/work_stealing.hpp>
#include <boost/fiber/buffered_channel.hpp>
#include <boost/fiber/fiber.hpp>

#include "latch.hpp"

namespace {

/// What the root fibres of the threads are asked to do.
using Jobs = boost::fibers::buffered_channel<std::function<void()>>;

/// How many jobs may wait; the least that the library allows.
constexpr std::size_t room = 2;

/// The size from which malloc maps memory by itself; it takes no larger one.
constexpr int mapped_from = 32 << 20;

/// The jobs of each thread.
std::deque<Jobs> threads;

/// Makes malloc keep the stacks that are freed. By default it gives each of them
/// back to the kernel, which costs more than everything else.
void keep_memory() {
    mallopt(M_MMAP_THRESHOLD, mapped_from);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

/// The life of a thread's root fibre: does jobs until there will be no more.
void serve(Jobs& jobs) {
    std::function<void()> job;
    while (jobs.pop(job) == boost::fibers::channel_op_status::success) {
        job();
    }
}

/// The life of a thread among several.
void steal_and_serve(Jobs& jobs) {
    const auto all = static_cast<std::uint32_t>(threads.size());
    boost::fibers::use_scheduling_algorithm<boost::fibers::algo::work_stealing>(all, true);
    serve(jobs);
}

/// Makes this thread and, if there shall be several, the others do their jobs.
void run_threads() {
    if (threads.size() == 1) {
        return serve(threads.front());
    }
    std::vector<std::thread> others;
    for (std::size_t index = 1; index < threads.size(); ++index) {
        others.emplace_back(steal_and_serve, std::ref(threads[index]));
    }
    steal_and_serve(threads.front());
    for (std::thread& other : others) {
        other.join();
    }
}

}  // namespace

Sample with_processors(std::size_t processors, const std::function<Sample()>& body) {
    keep_memory();
    while (threads.size() < processors) {
        threads.emplace_back(room);
    }
    Sample sample;
    std::exception_ptr failure;
    const auto workload = [&] {
        try {
            sample = body();
        } catch (...) {
            failure = std::current_exception();
        }
        for (Jobs& jobs : threads) {
            jobs.close();
        }
    };
    threads.front().push([&] { boost::fibers::fiber(workload).detach(); });
    run_threads();
    if (failure) {
        std::rethrow_exception(failure);
    }
    return sample;
}

void spread(std::size_t count, const std::function<void(std::size_t index)>& make) {
    Latch made(threads.size());
    for (std::size_t first = 0; first < threads.size(); ++first) {
        threads[first].push([&, first] {
            for (std::size_t index = first; index < count; index += threads.size()) {
                make(index);
            }
            made.count_down();
        });
    }
    made.wait();
}
