//! The sizes of stacks, and their classes.

use crate::arch;

/// Bytes below each stack that fault.
pub const GUARD_SIZE: usize = 64 * 1024;

/// The smallest stack: room for a panic with a backtrace.
pub const MIN_STACK_SIZE: usize = 32 * 1024;

/// The default reservation. Untouched pages of it cost address space only.
pub(crate) const DEFAULT_STACK_SIZE: usize = 256 * 1024;

/// How many size classes there are: up to the largest power of two.
pub(super) const CLASSES: usize = (usize::BITS - MIN_STACK_SIZE.trailing_zeros()) as usize;

/// The classes that processors and clusters keep: up to 4 MiB. Larger stacks are rare, and go
/// straight to the system level.
pub(super) const COMMON: usize = 8;

/// Rounds a wish up to what can be had: a power of two, at least the minimum.
#[must_use]
pub(crate) fn round_size(wish: usize) -> usize {
    let size = wish.max(MIN_STACK_SIZE).checked_next_power_of_two();
    // Beyond all powers of two no stack can be had; the pool will say so.
    size.unwrap_or(1 << (usize::BITS - 1))
}

/// The class of a size, which is rounded up.
#[inline]
#[must_use]
pub(crate) fn class_of(wish: usize) -> usize {
    let bits = usize::BITS - (wish.max(MIN_STACK_SIZE) - 1).leading_zeros();
    // A size beyond all powers of two has the last class, as in `round_size`.
    ((bits - MIN_STACK_SIZE.trailing_zeros()) as usize).min(CLASSES - 1)
}

/// Usable bytes of the stacks of a class.
#[inline]
pub(super) fn class_size(class: usize) -> usize {
    MIN_STACK_SIZE << class
}

/// The page size. Guards, and what the kernel is told of stacks, are multiples of it.
#[inline(always)]
#[must_use]
pub fn page_size() -> usize {
    arch::page_size()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_those_of_rounded_sizes() {
        let sizes = [
            0,
            1,
            4096,
            1 << 15,
            (1 << 15) + 1,
            1 << 16,
            100_000,
            1 << 18,
            1 << 40,
        ];
        for wish in sizes
            .into_iter()
            .chain([1 << 63, (1 << 63) + 1, usize::MAX])
        {
            let class = class_of(wish);
            assert_eq!(class_size(class), round_size(wish), "{wish}");
            assert!(class < CLASSES);
        }
    }
}
