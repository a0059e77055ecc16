//! Leading a contest and evaluating it.

#include "contest.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <thread>

namespace {

/// The length of the warm-up, as a share of the counted time.
constexpr double warm_up = 0.1;

}  // namespace

Spent Contest::direct(double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(warm_up * seconds));
    const Stopwatch watch;
    now = Phase::counting;
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    now = Phase::stopped;
    return watch.stop();
}

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
