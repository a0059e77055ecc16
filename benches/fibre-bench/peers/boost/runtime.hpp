//! Threads with a scheduler each, among which fibres are shared.

#pragma once

#include <cstddef>
#include <functional>

#include "measure.hpp"

/// Runs a workload as a fibre, with so many threads that run fibres.
Sample with_processors(std::size_t processors, const std::function<Sample()>& body);

/// Calls `make` with each number below `count`, in turn on each of the threads,
/// and blocks the fibre until that is done. What `make` starts begins there.
void spread(std::size_t count, const std::function<void(std::size_t index)>& make);
