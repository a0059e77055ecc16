//! A unit of work: what stands for a program's own computing.
//!
//! A unit is one step of a linear congruential generator. It depends on the step
//! before, so that no compiler and no processor can do two at once, and costs
//! about a nanosecond; the same step in every peer of whatever language.

use std::arch::asm;

/// Computes for `units` units from `x` on. What comes out goes into the next
/// piece of work, or into [`std::hint::black_box`].
#[inline]
pub(crate) fn work(units: u64, x: u64) -> u64 {
    (0..units).fold(x, |x, _| {
        opaque(x)
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407)
    })
}

/// The same value; the compiler knows nothing of it then. Otherwise it unrolls the loop and folds
/// eight steps into one multiplication.
#[inline(always)]
fn opaque(mut x: u64) -> u64 {
    // SAFETY: there is no instruction.
    unsafe { asm!("/* {0} */", inout(reg) x, options(pure, nomem, nostack, preserves_flags)) };
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_a_step_of_the_generator() {
        assert_eq!(work(0, 7), 7);
        assert_eq!(work(1, 0), 1_442_695_040_888_963_407);
        assert_eq!(work(3, 7), work(1, work(2, 7)));
    }
}
