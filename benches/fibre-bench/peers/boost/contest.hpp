//! What workloads share in which fibres contend for mutexes until they are told to
//! stop.
//!
//! A word tells all of them in which phase they are. Only iterations that end while
//! it says counting are counted, each fibre in a variable of its own on its own
//! stack. A thread without a scheduler sleeps and changes the word, since a fibre
//! that never blocks lets no other fibre run.

#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include <boost/fiber/mutex.hpp>

#include "measure.hpp"

/// What the fibres do at the moment.
enum class Phase { warming, counting, stopped };

/// The word that tells them.
class Contest {
public:
    /// The phase.
    Phase phase() const { return now; }

    /// Leads the fibres through the phases; returns what the counted one took.
    Spent direct(double seconds);

private:
    /// What to do.
    std::atomic<Phase> now{Phase::warming};
};

/// A mutex with a cache line of its own.
struct alignas(64) PaddedMutex {
    boost::fibers::mutex mutex;
};

/// Makes a sample of all counts, with Jain's fairness index and the coefficient
/// of variation.
Sample evaluate(const Spent& spent, const std::vector<std::size_t>& counts);
