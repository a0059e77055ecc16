//! What stands for a program's own computing.
//!
//! A unit is one step of a linear congruential generator that depends on the
//! step before, so that no compiler and no processor can do two at once: the
//! same in every peer. What comes out goes into the next piece of work and at
//! last into an atomic, and is therefore really computed.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

/// Where the outcome of all work ends.
inline std::atomic<std::uint64_t> result{0};

/// Computes for so many units, from x on.
inline std::uint64_t compute(std::size_t units, std::uint64_t x) {
    for (; units > 0; --units) {
        asm("" : "+r"(x));  // no instruction; keeps steps from being folded into one
        x = x * 6364136223846793005U + 1442695040888963407U;
    }
    return x;
}
