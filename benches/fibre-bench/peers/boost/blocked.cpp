//! blocked: many fibres which block, what they cost and what they occupy.
//!
//! Stacks are 16 KiB from malloc, without a guard page, unless the key `stack`
//! says otherwise; the library allows no less than 13.5 KiB. All fibres block on
//! one semaphore. The time in which the process looks at itself does not count.

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <vector>

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/fixedsize_stack.hpp>

#include "latch.hpp"
#include "semaphore.hpp"
#include "workloads.hpp"

namespace {

/// The memory of this process that is in RAM, in bytes.
double resident() {
    double size = 0;
    double pages = 0;
    if (!(std::ifstream("/proc/self/statm") >> size >> pages)) {
        throw std::runtime_error("/proc/self/statm cannot be read");
    }
    return pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// How many mappings this process has.
double mappings() {
    std::ifstream maps("/proc/self/maps");
    using Characters = std::istreambuf_iterator<char>;
    return static_cast<double>(std::count(Characters(maps), Characters(), '\n'));
}

/// One pass: all are made, block, are woken and end.
Sample pass(const Settings& settings) {
    const std::size_t count = settings.count("fibres");
    boost::fibers::fixedsize_stack stack(settings.count("stack"));
    const double before = resident();
    Latch announced(count);
    Semaphore shared;
    std::vector<boost::fibers::fiber> fibres;

    const Stopwatch making;
    fibres.reserve(count);
    for (std::size_t made = 0; made < count; ++made) {
        fibres.emplace_back(std::allocator_arg, stack, [&] {
            announced.count_down();
            shared.acquire();
        });
    }
    announced.wait();
    const Spent made = making.stop();

    const double each = (resident() - before) / static_cast<double>(count);
    const double mapped = mappings();

    const Stopwatch ending;
    for (std::size_t released = 0; released < count; ++released) {
        shared.release();
    }
    for (boost::fibers::fiber& fibre : fibres) {
        fibre.join();
    }
    Sample sample = (made + ending.stop()).per(count);
    sample.values = {{"rss_bytes", each}, {"mappings", mapped}};
    return sample;
}

}  // namespace

/// Of several passes the cheapest counts; what is occupied is seen in the first.
Sample workload::blocked(const Settings& settings) {
    Sample best = pass(settings);
    best.values["first_ns"] = best.cpu_ns;
    for (std::size_t done = 1; done < settings.count("passes"); ++done) {
        const Sample again = pass(settings);
        best.cpu_ns = std::min(best.cpu_ns, again.cpu_ns);
        best.wall_ns = std::min(best.wall_ns, again.wall_ns);
    }
    return best;
}
