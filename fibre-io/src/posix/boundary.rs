//! What the C library and `fibre-libc` both do when a program's call enters and returns.

use fibre_core::internal::abort_with;
use std::ffi::{c_int, c_long};

/// What a call returns that returns -1 for a failure.
pub trait Returned {
    /// -1.
    const FAILED: Self;
    /// What stands for the kernel's word.
    fn of(word: usize) -> Self;
}

/// The result types of such calls. The kernel's results fit: descriptors, counts of the requested
/// objects, and bytes, since no call moves more than memory has.
macro_rules! returned {
    ($($signed:ty),*) => {$(
        impl Returned for $signed {
            const FAILED: Self = -1;
            #[inline(always)]
            fn of(word: usize) -> Self {
                word as Self
            }
        }
    )*};
}
returned!(c_int, c_long, isize);

/// Passes a program's pointers to the thread that works for its waiting fibre.
#[derive(Debug)]
pub struct Passed<T>(pub T);

// SAFETY: the caller waits until the other thread is ready with them.
unsafe impl<T> Send for Passed<T> {}

impl<T> Passed<T> {
    /// Taken as a whole, so that closures take it as a whole.
    pub fn take(self) -> T {
        self.0
    }
}

/// Ends the process if there is less room than a call of a fortified program needs.
#[inline]
pub fn check(needed: usize, room: usize) {
    if needed > room {
        abort_with(format_args!("a call would write beyond its buffer"));
    }
}
