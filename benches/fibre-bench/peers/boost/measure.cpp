//! How time is read, and how the rounds of a repetition grow.

#include "measure.hpp"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <iomanip>
#include <limits>
#include <system_error>

namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

/// How many times the length that was asked for ends the rounds in any case.
constexpr double far_too_long = 10;

/// The CPU time this process has used.
nanoseconds cpu_time() {
    timespec used{};
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0) {
        throw std::system_error(errno, std::system_category(), "reading the CPU clock");
    }
    return seconds(used.tv_sec) + nanoseconds(used.tv_nsec);
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Sample& sample) {
    out << std::setprecision(12);
    out << "{\"operations\":" << sample.operations << ",\"cpu_ns\":" << sample.cpu_ns
        << ",\"wall_ns\":" << sample.wall_ns;
    const char* before = ",\"values\":{";
    for (const auto& [name, value] : sample.values) {
        out << before << '"' << name << "\":" << value;
        before = ",";
    }
    return out << (sample.values.empty() ? "}" : "}}");
}

Spent Spent::operator+(const Spent& other) const {
    return {cpu + other.cpu, wall + other.wall};
}

Sample Spent::per(std::size_t operations) const {
    const double divisor = static_cast<double>(operations);
    Sample sample;
    sample.operations = operations;
    sample.cpu_ns = static_cast<double>(cpu.count()) / divisor;
    sample.wall_ns = static_cast<double>(wall.count()) / divisor;
    return sample;
}

Stopwatch::Stopwatch() : cpu(cpu_time()), wall(std::chrono::steady_clock::now()) {}

Spent Stopwatch::stop() const {
    return {cpu_time() - cpu, std::chrono::steady_clock::now() - wall};
}

// A round is judged by the fastest so far: a disturbance can make a round of few
// operations long, but not one of many short. A round that took far longer than
// asked is no disturbance but what the runtime does, and counts too.
Sample calibrated(const Settings& settings, std::size_t fewest,
                  const std::function<Sample(std::size_t operations)>& round) {
    std::size_t operations = fewest;
    double fastest = std::numeric_limits<double>::infinity();
    for (;;) {
        Sample sample = round(operations);
        fastest = std::min(fastest, sample.cpu_ns);
        const double done = static_cast<double>(sample.operations);
        const double length = fastest * done / 1e9;
        const double took = sample.cpu_ns * done / 1e9;
        if (length >= settings.seconds() || took >= far_too_long * settings.seconds()) {
            return sample;
        }
        // Far from the end grow fast; near it aim a little beyond.
        const double growth = std::min(settings.seconds() * 1.1 / length, 8.0);
        operations = static_cast<std::size_t>(std::ceil(static_cast<double>(operations) * growth));
    }
}
