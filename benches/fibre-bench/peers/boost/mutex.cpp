//! mutex: locking and unlocking what nobody else wants.

#include <boost/fiber/mutex.hpp>

#include "workloads.hpp"

Sample workload::mutex(const Settings& settings) {
    boost::fibers::mutex mutex;
    return calibrated(settings, 10000, [&](std::size_t operations) {
        const Stopwatch watch;
        for (std::size_t done = 0; done < operations; ++done) {
            mutex.lock();
            mutex.unlock();
        }
        return watch.stop().per(operations);
    });
}
