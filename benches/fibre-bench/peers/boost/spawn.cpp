//! spawn: making a fibre that does nothing, and joining it.
//!
//! Stacks are the library's default: 128 KiB from malloc, without a guard page
//! (`fixedsize_stack`). So is the launch policy: a new fibre waits for its turn.

#include <algorithm>
#include <vector>

#include <boost/fiber/fiber.hpp>

#include "workloads.hpp"

namespace {

/// Makes so many batches, one after the other.
Sample round(std::size_t batch, std::size_t batches) {
    std::vector<boost::fibers::fiber> fibres;
    fibres.reserve(batch);
    const Stopwatch watch;
    for (std::size_t made = 0; made < batches; ++made) {
        for (std::size_t index = 0; index < batch; ++index) {
            fibres.emplace_back([] {});
        }
        for (boost::fibers::fiber& fibre : fibres) {
            fibre.join();
        }
        fibres.clear();
    }
    return watch.stop().per(batch * batches);
}

}  // namespace

Sample workload::spawn(const Settings& settings) {
    const std::size_t batch = settings.count("batch");
    const std::size_t fewest = std::max<std::size_t>(batch, 100);
    return calibrated(settings, fewest, [=](std::size_t operations) {
        return round(batch, (operations + batch - 1) / batch);
    });
}
