//! Numbers of fibres and threads: unique in the process, never reused, and short enough to read.
//!
//! The kernel has numbers of its own for threads, and reuses them: [`kernel_thread`].
//!
//! All others come from one counter of 64 bits, which does not overflow while the process lives. A
//! processor takes [`BLOCK`] numbers at a time for the fibres that are spawned there, so that a
//! spawn touches no word that others write. Plain threads, and the fibres that they spawn, take one
//! number each. A processor's unused numbers are lost when it ends, which costs nothing.

use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers that a processor takes at once.
pub(crate) const BLOCK: u64 = 256;

/// The counter.
struct Numbers(AtomicU64);

/// The counter of the process. Zero is given to none.
static NUMBERS: Numbers = Numbers(AtomicU64::new(1));

impl Numbers {
    /// Takes so many numbers in a row, and returns the first.
    fn take(&self, count: u64) -> u64 {
        self.0.fetch_add(count, Ordering::Relaxed)
    }
}

/// Takes one number.
pub(crate) fn take_one() -> u64 {
    NUMBERS.take(1)
}

/// Takes a block and returns the first of its [`BLOCK`] numbers.
#[cold]
pub(crate) fn take_block() -> u64 {
    NUMBERS.take(BLOCK)
}

/// The kernel's number of the calling thread; 0 if a sandbox keeps it secret.
pub(crate) fn kernel_thread() -> i32 {
    // SAFETY: asks for a number.
    unsafe { libc::gettid() }.max(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers stay unique after more blocks than the upper bits of a number could tell apart.
    #[test]
    fn no_number_comes_twice() {
        let numbers = Numbers(AtomicU64::new(1));
        let mut last = 0;
        for _ in 0..=1 << 24 {
            let first = numbers.take(BLOCK);
            assert!(first > last, "{first} after {last}");
            last = first + BLOCK - 1;
        }
        assert_eq!(numbers.take(1), last + 1);
    }

    /// Years of the fastest spawning do not use them up.
    #[test]
    fn there_are_enough() {
        let per_second = 1 << 34;
        assert!(u64::MAX / per_second / (365 * 24 * 3600) > 30);
    }
}
