//! contend: fibres that compute, lock one of several mutexes at random, compute
//! under it and unlock it, until they are told to stop.
//!
//! A word tells all of them in which phase they are. Only iterations that end
//! while it says counting are counted, each fibre in a variable of its own on
//! its own stack: what happens before (the warm-up) and after is left out, and
//! counting shares no cache line. A thread beside the scheduler sleeps and
//! changes the word, since a fibre that never blocks lets no other fibre run.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/mutex.hpp>

#include "computing.hpp"
#include "runtime.hpp"
#include "workloads.hpp"

namespace {

/// What the fibres do at the moment.
enum class Phase { warming, counting, stopped };

/// The length of the warm-up, as a share of the counted time.
constexpr double warm_up = 0.1;

/// A mutex with a cache line of its own.
struct alignas(64) PaddedMutex {
    boost::fibers::mutex mutex;
};

/// What the fibres of a run share.
struct Contention {
    /// Tells all what to do.
    std::atomic<Phase> phase{Phase::warming};
    /// What they lock.
    std::vector<PaddedMutex> locks;
    /// Units of work under a mutex.
    std::size_t held;
    /// Units of work without.
    std::size_t free;

    /// A run whose fibres have not started.
    explicit Contention(const Settings& settings)
        : locks(settings.count("locks")),
          held(settings.count("held")),
          free(settings.count("free")) {}

    /// The life of one fibre; returns its count.
    std::size_t iterate(std::uint64_t index) {
        std::uint64_t random = (index + 1) * 0x9e3779b97f4a7c15U;
        std::uint64_t x = index;
        std::size_t count = 0;
        for (Phase now = phase; now != Phase::stopped;) {
            x = compute(free, x);
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            {
                const std::size_t chosen = (random >> 32) * locks.size() >> 32;
                const std::lock_guard lock(locks[chosen].mutex);
                x = compute(held, x);
            }
            now = phase;
            count += now == Phase::counting ? 1 : 0;
        }
        result += x;
        return count;
    }

    /// Leads the fibres through the phases; returns what the counted one took.
    Spent direct(double seconds) {
        std::this_thread::sleep_for(std::chrono::duration<double>(warm_up * seconds));
        const Stopwatch watch;
        phase = Phase::counting;
        std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
        phase = Phase::stopped;
        return watch.stop();
    }
};

/// Makes a sample of all counts, with Jain's fairness index and the coefficient
/// of variation.
Sample evaluate(const Spent& spent, const std::vector<std::size_t>& counts) {
    std::size_t sum = 0;
    double squares = 0;
    for (const std::size_t count : counts) {
        sum += count;
        squares += static_cast<double>(count) * static_cast<double>(count);
    }
    if (sum == 0) {
        throw std::runtime_error("not one iteration ended in time");
    }
    const double squared_sum = static_cast<double>(sum) * static_cast<double>(sum);
    const double jain = squared_sum / (static_cast<double>(counts.size()) * squares);
    Sample sample = spent.per(sum);
    sample.values["jain"] = jain;
    sample.values["cv"] = std::sqrt(std::max(1 / jain - 1, 0.0));
    return sample;
}

}  // namespace

Sample workload::contend(const Settings& settings) {
    Contention shared(settings);
    std::vector<std::size_t> counts(settings.count("threads"));
    std::vector<boost::fibers::fiber> fibres(counts.size());
    // Before the fibres exist: as soon as one runs, this one may have no turn.
    auto director =
        std::async(std::launch::async, [&] { return shared.direct(settings.seconds()); });
    spread(counts.size(), [&](std::size_t index) {
        fibres[index] = boost::fibers::fiber([&, index] { counts[index] = shared.iterate(index); });
    });
    for (boost::fibers::fiber& fibre : fibres) {
        fibre.join();
    }
    return evaluate(director.get(), counts);
}
