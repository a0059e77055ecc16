//! wait: how long one fibre waits for a mutex that many others take again and again.
//!
//! The others, the crowd, do no work without the mutex, and can be told to yield with
//! it at every so many iterations. The one, the guest, sleeps, locks, and looks at the
//! clock before and after. What it still waits for at the end counts too. The longest
//! gap is that between two acquisitions, with the sleep in it.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <future>
#include <mutex>
#include <stdexcept>
#include <vector>

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>

#include "computing.hpp"
#include "contest.hpp"
#include "runtime.hpp"
#include "workloads.hpp"

namespace {

using std::chrono::steady_clock;

/// How many microseconds have passed between two moments.
double micros(steady_clock::time_point from, steady_clock::time_point to) {
    return std::chrono::duration<double, std::micro>(to - from).count();
}

/// What the guest has seen.
struct Visits {
    /// How many microseconds it waited each time.
    std::vector<double> waits;
    /// The longest time between two acquisitions, in microseconds.
    double gap = 0;
};

/// The mutex, and what is done with it.
struct Wanted {
    /// Tells when to stop.
    Contest contest;
    /// What all want.
    PaddedMutex lock;
    /// Units of work with it.
    std::size_t held;
    /// After how many iterations one of the crowd yields with it; 0: never.
    std::size_t yields;
    /// For how long the guest sleeps.
    std::chrono::microseconds pause;

    /// What the settings say.
    explicit Wanted(const Settings& settings)
        : held(settings.count("held")),
          yields(settings.count("yields")),
          pause(settings.count("pause")) {}

    /// The life of one of the crowd; returns its count.
    std::size_t barge(std::uint64_t index) {
        std::uint64_t x = index;
        std::size_t count = 0;
        Phase now = contest.phase();
        for (std::size_t iteration = 1; now != Phase::stopped; ++iteration) {
            {
                const std::lock_guard held_lock(lock.mutex);
                x = compute(held, x);
                if (yields > 0 && iteration % yields == 0) {
                    boost::this_fiber::yield();
                }
            }
            now = contest.phase();
            count += now == Phase::counting ? 1 : 0;
        }
        result += x;
        return count;
    }

    /// The life of a guest that was sent at the time `last`; returns what the guest has
    /// seen, at least one visit.
    Visits visit(steady_clock::time_point last) {
        Visits visits;
        do {
            boost::this_fiber::sleep_for(pause);
            const auto asked = steady_clock::now();
            const std::lock_guard held_lock(lock.mutex);
            const auto now = steady_clock::now();
            visits.waits.push_back(micros(asked, now));
            visits.gap = std::max(visits.gap, micros(last, now));
            last = now;
        } while (contest.phase() != Phase::stopped);
        return visits;
    }
};

/// Adds what the guest has seen to a sample.
void add(Sample& sample, Visits visits) {
    std::vector<double>& waits = visits.waits;
    if (waits.empty()) {
        throw std::runtime_error("the guest never came");
    }
    std::sort(waits.begin(), waits.end());
    const auto at = [&](double share) {
        const auto place = static_cast<std::size_t>(std::ceil(share * static_cast<double>(waits.size())));
        return waits[std::max<std::size_t>(place, 1) - 1];
    };
    sample.values["acquired"] = static_cast<double>(waits.size());
    sample.values["gap_us_max"] = visits.gap;
    sample.values["wait_us_median"] = at(0.5);
    sample.values["wait_us_p99"] = at(0.99);
    sample.values["wait_us_max"] = at(1);
}

}  // namespace

Sample workload::wait(const Settings& settings) {
    Wanted wanted(settings);
    const auto sent = steady_clock::now();
    Visits visits;
    std::vector<std::size_t> counts(settings.count("crowd"));
    std::vector<boost::fibers::fiber> fibres(1 + counts.size());
    // Before the fibres exist: as soon as one runs, this one may have no turn.
    auto director =
        std::async(std::launch::async, [&] { return wanted.contest.direct(settings.seconds()); });
    spread(fibres.size(), [&](std::size_t index) {
        fibres[index] = boost::fibers::fiber([&, index] {
            if (index == 0) {
                visits = wanted.visit(sent);
            } else {
                counts[index - 1] = wanted.barge(index);
            }
        });
    });
    for (boost::fibers::fiber& fibre : fibres) {
        fibre.join();
    }
    Sample sample = evaluate(director.get(), counts);
    add(sample, visits);
    return sample;
}
