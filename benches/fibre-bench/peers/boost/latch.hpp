//! A count that fibres wait for to become zero: "all have started", "the gate is
//! open".

#pragma once

#include <cstddef>
#include <mutex>

#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/mutex.hpp>

/// Holds up fibres until it was counted down so many times.
class Latch {
public:
    /// A latch that has to be counted down so many times.
    explicit Latch(std::size_t count) : left(count) {}

    /// Counts down by one; the last opens the latch for good.
    void count_down() {
        std::unique_lock lock(mutex);
        if (--left == 0) {
            opened.notify_all();
        }
    }

    /// Blocks the fibre until the latch is open.
    void wait() {
        std::unique_lock lock(mutex);
        opened.wait(lock, [this] { return left == 0; });
    }

private:
    /// Guards the count.
    boost::fibers::mutex mutex;
    /// Told when the count becomes zero.
    boost::fibers::condition_variable opened;
    /// How often it must still be counted down.
    std::size_t left;
};
