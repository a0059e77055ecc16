//! The error number of the calling thread.
//!
//! Fibres here never change their thread, so its address, which compilers take for a constant of
//! the calling function, stays right across a wait. Other fibres run meanwhile and change the
//! number, so a call that has waited sets it.

use std::ffi::c_int;

/// The error number.
#[inline]
pub(crate) fn get() -> c_int {
    // SAFETY: this thread's own.
    unsafe { *libc::__errno_location() }
}

/// Sets it.
#[inline]
pub(crate) fn set(number: c_int) {
    // SAFETY: this thread's own.
    unsafe { *libc::__errno_location() = number };
}
