//! work: what a unit of computing costs.

#include "computing.hpp"
#include "workloads.hpp"

Sample workload::work(const Settings& settings) {
    const std::size_t units = settings.count("units");
    return calibrated(settings, 10 * units, [=](std::size_t operations) {
        const std::size_t pieces = (operations + units - 1) / units;
        std::uint64_t x = result;
        const Stopwatch watch;
        for (std::size_t done = 0; done < pieces; ++done) {
            x = compute(units, x);
        }
        const Spent spent = watch.stop();
        result = x;
        return spent.per(units * pieces);
    });
}
