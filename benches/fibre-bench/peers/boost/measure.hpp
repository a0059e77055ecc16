//! The clocks, what is read from them, and how long a repetition becomes.
//!
//! CPU time is that of the whole process, user and system, from the kernel's
//! clock for it. Rounds of more and more operations warm the runtime up; the
//! last one, which is long enough, counts.

#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <ostream>
#include <string>

#include "settings.hpp"

/// What one repetition measured.
struct Sample {
    /// Operations that were done.
    std::size_t operations = 0;
    /// CPU time of one of them, in nanoseconds.
    double cpu_ns = 0;
    /// Time on the wall for one of them, in nanoseconds.
    double wall_ns = 0;
    /// Other readings of the workload, by name.
    std::map<std::string, double> values;
};

/// Prints a sample as one line of JSON.
std::ostream& operator<<(std::ostream& out, const Sample& sample);

/// Time that was used.
struct Spent {
    /// CPU time of the whole process.
    std::chrono::nanoseconds cpu{0};
    /// Time on the wall.
    std::chrono::nanoseconds wall{0};

    /// The sum of two measurements, between which something else was done.
    Spent operator+(const Spent& other) const;

    /// This time, divided among operations.
    Sample per(std::size_t operations) const;
};

/// A measurement that has begun.
class Stopwatch {
public:
    /// Begins.
    Stopwatch();

    /// Ends.
    Spent stop() const;

private:
    /// The CPU time used before.
    std::chrono::nanoseconds cpu;
    /// When it began.
    std::chrono::steady_clock::time_point wall;
};

/// Repeats rounds of more and more operations, beginning with the fewest, until
/// one takes as long as asked.
Sample calibrated(const Settings& settings, std::size_t fewest,
                  const std::function<Sample(std::size_t operations)>& round);
