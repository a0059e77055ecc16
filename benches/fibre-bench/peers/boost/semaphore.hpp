//! The semaphore that Boost.Fiber has not, from its mutex and its condition
//! variable.

#pragma once

#include <cstddef>
#include <mutex>

#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/mutex.hpp>

/// A counting semaphore that begins without permits.
class Semaphore {
public:
    /// Takes a permit; blocks the fibre until there is one.
    void acquire() {
        std::unique_lock lock(mutex);
        added.wait(lock, [this] { return permits > 0; });
        --permits;
    }

    /// Adds a permit.
    void release() {
        {
            std::unique_lock lock(mutex);
            ++permits;
        }
        added.notify_one();
    }

private:
    /// Guards the permits.
    boost::fibers::mutex mutex;
    /// Told of each permit.
    boost::fibers::condition_variable added;
    /// Permits nobody has taken.
    std::size_t permits = 0;
};
