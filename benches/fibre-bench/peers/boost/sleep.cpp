//! sleep: how much later than asked a fibre of an idle process wakes.

#include <algorithm>
#include <chrono>
#include <vector>

#include <boost/fiber/operations.hpp>

#include "workloads.hpp"

Sample workload::sleep(const Settings& settings) {
    using Micros = std::chrono::duration<double, std::micro>;
    const std::chrono::microseconds asked(settings.count("micros"));
    std::vector<double> over(settings.count("count"));
    const Stopwatch watch;
    for (double& late : over) {
        const auto before = std::chrono::steady_clock::now();
        boost::this_fiber::sleep_for(asked);
        late = Micros(std::chrono::steady_clock::now() - before - asked).count();
    }
    Sample sample = watch.stop().per(over.size());
    std::sort(over.begin(), over.end());
    sample.values = {{"over_us_median", over[over.size() / 2]}, {"over_us_max", over.back()}};
    return sample;
}
