//! contend: fibres that compute, lock one of several mutexes at random, compute
//! under it and unlock it, until they are told to stop.

#include <cstdint>
#include <future>
#include <mutex>
#include <vector>

#include <boost/fiber/fiber.hpp>

#include "computing.hpp"
#include "contest.hpp"
#include "runtime.hpp"
#include "workloads.hpp"

namespace {

/// What the fibres of a run share.
struct Contention {
    /// Tells all what to do.
    Contest contest;
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
        for (Phase now = contest.phase(); now != Phase::stopped;) {
            x = compute(free, x);
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            {
                const std::size_t chosen = (random >> 32) * locks.size() >> 32;
                const std::lock_guard lock(locks[chosen].mutex);
                x = compute(held, x);
            }
            now = contest.phase();
            count += now == Phase::counting ? 1 : 0;
        }
        result += x;
        return count;
    }
};

}  // namespace

Sample workload::contend(const Settings& settings) {
    Contention shared(settings);
    std::vector<std::size_t> counts(settings.count("threads"));
    std::vector<boost::fibers::fiber> fibres(counts.size());
    // Before the fibres exist: as soon as one runs, this one may have no turn.
    auto director =
        std::async(std::launch::async, [&] { return shared.contest.direct(settings.seconds()); });
    spread(counts.size(), [&](std::size_t index) {
        fibres[index] = boost::fibers::fiber([&, index] { counts[index] = shared.iterate(index); });
    });
    for (boost::fibers::fiber& fibre : fibres) {
        fibre.join();
    }
    return evaluate(director.get(), counts);
}
