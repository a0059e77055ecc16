//! Events of different colours, some of which take long: the program of the same name in the
//! harness (`src/events/unbalanced.rs`).

#pragma once

#include <string>

#include "../boost/measure.hpp"

/// Runs rounds of events. Each has a strand of its own that is made for it; in the variant
/// `kept-strands` strands are made before, and used again in each round; in `no-strands` events
/// are only posted. An operation is an event.
Sample unbalanced(const Settings& settings, const std::string& variant);
