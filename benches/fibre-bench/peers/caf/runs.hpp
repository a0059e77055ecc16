//! What the workloads have in common: runs that are repeated, and latencies.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "../boost/measure.hpp"
#include "../boost/settings.hpp"

/// Fails unless a figure is what it has to be.
template <class T>
void expect(const std::string& what, const T& found, const T& right) {
    if (!(found == right)) {
        throw std::runtime_error(what + " is " + std::to_string(found) + " instead of " +
                                 std::to_string(right));
    }
}

/// Nanoseconds on the clock that only goes forward.
std::int64_t now();

/// Adds the quantiles of these times, which are nanoseconds, to a sample, in microseconds.
void add_quantiles(Sample& sample, std::vector<std::int64_t> times);

/// Makes runs of a program until they are long enough; one has so many messages, and a sample is
/// per message. `run` is given the sample's values to add to.
Sample repeated(const Settings& settings, std::size_t messages,
                const std::function<void(Sample&)>& run);
