//! How runs are repeated, and how latencies are read.

#include "runs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace {

/// What is read of latencies: a name, and the part of all readings that is not above it.
const std::vector<std::pair<const char*, double>> quantiles = {
    {"p50_us", 0.5},     {"p90_us", 0.9},      {"p99_us", 0.99},
    {"p999_us", 0.999}, {"p9999_us", 0.9999}, {"max_us", 1.0},
};

}  // namespace

std::int64_t now() {
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

void add_quantiles(Sample& sample, std::vector<std::int64_t> times) {
    if (times.empty()) {
        throw std::runtime_error("there are no latencies");
    }
    std::sort(times.begin(), times.end());
    for (const auto& [name, part] : quantiles) {
        const double rank = std::ceil(part * static_cast<double>(times.size()));
        const auto place = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
        sample.values[name] = static_cast<double>(times[place]) / 1e3;
    }
}

Sample repeated(const Settings& settings, std::size_t messages,
                const std::function<void(Sample&)>& run) {
    return calibrated(settings, messages, [&](std::size_t operations) {
        const std::size_t runs = (operations + messages - 1) / messages;
        Sample values;
        auto shortest = std::numeric_limits<std::int64_t>::max();
        const Stopwatch watch;
        for (std::size_t done = 0; done < runs; ++done) {
            const std::int64_t begin = now();
            run(values);
            shortest = std::min(shortest, now() - begin);
        }
        Sample sample = watch.stop().per(runs * messages);
        sample.values = std::move(values.values);
        sample.values["run_ms"] = static_cast<double>(shortest) / 1e6;
        return sample;
    });
}
