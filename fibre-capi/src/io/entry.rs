//! How calls of input and output come in and go out.

use crate::boundary::{Returned, contain, keep_errno};
use crate::errno;
use crate::exit::leave;
use fibre_core::{cancellation_point, in_fibre};
use fibre_io::raw::Failure;
use rustix::io::Errno;
use std::os::fd::{BorrowedFd, RawFd};

/// A call that may leave the stack, and is a cancellation point: a request that is pending acts
/// before the call does anything, or finds anything wrong.
#[inline(always)]
pub fn or_leave<T: Returned>(f: impl FnOnce() -> Result<T, Failure>) -> T::Value {
    let looked = || {
        cancellation_point()?;
        f()
    };
    match keep_errno(looked) {
        Ok(value) => value.value(),
        Err(Failure::Cancelled) => leave(),
        Err(Failure::Errno(error)) => failed::<T>(error),
    }
}

/// A call that may leave the stack, and does not notice that its fibre is cancelled.
#[inline(always)]
pub fn enduring<T: Returned>(f: impl FnOnce() -> Result<T, Errno>) -> T::Value {
    match keep_errno(f) {
        Ok(value) => value.value(),
        Err(error) => failed::<T>(error),
    }
}

/// A call that does not leave the stack.
#[inline(always)]
pub fn at_once<T: Returned>(f: impl FnOnce() -> Result<T, Errno>) -> T::Value {
    match contain(f) {
        Ok(value) => value.value(),
        Err(error) => failed::<T>(error),
    }
}

/// Sets the error number and returns -1.
#[cold]
fn failed<T: Returned>(error: Errno) -> T::Value {
    errno::set(error.raw_os_error());
    T::FAILED
}

/// Whether a call on this number is to block its fibre: the caller is one, and the number can be a
/// descriptor. Else the call is the system's own.
#[inline(always)]
pub fn is_ours(fd: RawFd) -> bool {
    fd >= 0 && in_fibre()
}

/// A number as a descriptor. It is no negative one.
#[inline(always)]
pub fn borrow(fd: RawFd) -> BorrowedFd<'static> {
    debug_assert!(fd >= 0, "negative numbers are no descriptors");
    // SAFETY: the number is passed to the kernel only, which refuses those that are not open. That
    // others close or reopen it meanwhile is between them and the program, see `fibre_io::raw`.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

/// What a system call returns that returns a descriptor or zero.
#[inline(always)]
pub fn small(value: usize) -> i32 {
    // Descriptors and counts of what was asked about fit.
    value as i32
}

/// Makes a call for its effect.
#[inline(always)]
pub fn nothing(done: Result<usize, Errno>) -> Result<(), Errno> {
    done.map(drop)
}

/// Ends the process if there is less room than a call needs.
#[inline]
pub fn check(needed: usize, room: usize) {
    if needed > room {
        fibre_core::internal::abort_with(format_args!("a call would write beyond its buffer"));
    }
}
