//! yield: fibres that do nothing but let each other run.
//!
//! All have started and wait at a gate before the clock starts.

#include <vector>

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>

#include "latch.hpp"
#include "runtime.hpp"
#include "workloads.hpp"

namespace {

/// Lets each of the fibres yield so many times.
Sample round(std::size_t count, std::size_t each) {
    Latch started(count);
    Latch gate(1);
    std::vector<boost::fibers::fiber> fibres(count);
    const auto body = [&] {
        started.count_down();
        gate.wait();
        for (std::size_t yielded = 0; yielded < each; ++yielded) {
            boost::this_fiber::yield();
        }
    };
    spread(count, [&](std::size_t index) { fibres[index] = boost::fibers::fiber(body); });
    started.wait();
    const Stopwatch watch;
    gate.count_down();
    for (boost::fibers::fiber& fibre : fibres) {
        fibre.join();
    }
    return watch.stop().per(count * each);
}

}  // namespace

Sample workload::yield(const Settings& settings) {
    const std::size_t fibres = settings.count("fibres");
    return calibrated(settings, 100 * fibres, [=](std::size_t operations) {
        return round(fibres, (operations + fibres - 1) / fibres);
    });
}
