//! The door of input and output: how calls come in and go out.
//!
//! On a plain thread a call is the system's own, as the program has made it. Whether the caller is
//! a fibre is asked here, once: what a call passes in runs in fibres only, unless it is for all
//! callers ([`or_leave`], [`enduring`], [`at_once`]).

use crate::boundary::{contain, keep_errno, keep_errno_cancellable};
use crate::errno;
use crate::exit::leave;
use crate::memory::Asked;
use fibre_core::{cancellation_point, in_fibre};
use fibre_io::posix::boundary::Returned;
use fibre_io::posix::syscall::Syscall;
use fibre_io::posix::vector::Vector;
use fibre_io::raw::Failure;
use rustix::io::Errno;
use std::ffi::c_int;
use std::os::fd::{BorrowedFd, RawFd};

/// A call that may leave the stack, and is a cancellation point: a request that is pending acts
/// before the call does anything, or finds anything wrong. One that comes while it waits acts in
/// place of an error: the canceller may have caused that, by a `close` after it.
#[inline(always)]
pub fn or_leave<T: Returned>(f: impl FnOnce() -> Result<usize, Failure>) -> T {
    let looked = || {
        cancellation_point()?;
        f().or_else(|error| {
            cancellation_point()?;
            Err(error)
        })
    };
    match keep_errno_cancellable(looked) {
        Ok(word) => T::of(word),
        Err(Failure::Cancelled) => leave(),
        Err(Failure::Errno(error)) => failed(error),
    }
}

/// What a call has found that takes nothing: so a request acts that has come meanwhile.
#[inline]
pub fn found(count: usize) -> Result<usize, Failure> {
    cancellation_point()?;
    Ok(count)
}

/// What a call has taken from a descriptor. The end of a stream is nothing, so a request acts that
/// has come meanwhile: the canceller may have caused the end, by a `close` of the other side. An
/// empty message is something.
#[inline]
pub fn taken(fd: RawFd, count: usize) -> Result<usize, Failure> {
    match count {
        0 if has_messages(fd) => Ok(0),
        count => taken_if_any(count),
    }
}

/// [`taken`] by a call that knows no messages: none is nothing.
#[inline]
pub fn taken_if_any(count: usize) -> Result<usize, Failure> {
    match count {
        0 => found(0),
        count => Ok(count),
    }
}

/// Whether this is a socket with messages, which may be empty.
#[cold]
fn has_messages(fd: RawFd) -> bool {
    use rustix::net::{SocketType, sockopt::socket_type};
    // SAFETY: borrowed for the call; a number that is no open file's is an error.
    let socket = unsafe { BorrowedFd::borrow_raw(fd) };
    socket_type(socket).is_ok_and(|kind| kind != SocketType::STREAM)
}

/// [`or_leave`] that a fibre makes by `f`, and a plain thread as it is.
#[inline(always)]
pub fn waits<T: Returned>(call: Syscall, f: impl FnOnce(Syscall) -> Result<usize, Failure>) -> T {
    or_leave(|| {
        if in_fibre() {
            f(call)
        } else {
            Ok(call.here()?)
        }
    })
}

/// [`waits`] on a descriptor: what is none the kernel refuses.
#[inline(always)]
pub fn waits_on<T: Returned>(
    fd: RawFd,
    call: Syscall,
    f: impl FnOnce(Syscall) -> Result<usize, Failure>,
) -> T {
    or_leave(|| {
        if is_ours(fd) {
            f(call)
        } else {
            Ok(call.here()?)
        }
    })
}

/// A call that may leave the stack, and does not notice that its fibre is cancelled.
#[inline(always)]
pub fn enduring<T: Returned>(f: impl FnOnce() -> Result<usize, Errno>) -> T {
    keep_errno(f).map_or_else(failed, T::of)
}

/// [`enduring`] that a fibre makes by `f`, and a plain thread as it is.
#[inline(always)]
pub fn endures<T: Returned>(call: Syscall, f: impl FnOnce(Syscall) -> Result<usize, Errno>) -> T {
    enduring(|| if in_fibre() { f(call) } else { call.here() })
}

/// A call that does not leave the stack.
#[inline(always)]
pub fn at_once<T: Returned>(f: impl FnOnce() -> Result<usize, Errno>) -> T {
    contain(f).map_or_else(failed, T::of)
}

/// Sets the error number and returns -1.
#[cold]
fn failed<T: Returned>(error: Errno) -> T {
    errno::set(error.raw_os_error());
    T::FAILED
}

/// Whether a call on this number is to block its fibre: the caller is one, and the number can be a
/// descriptor.
#[inline(always)]
pub fn is_ours(fd: RawFd) -> bool {
    fd >= 0 && in_fibre()
}

/// The buffers that a program passes.
///
/// # Safety
///
/// What can be read there are so many, which stay as long as what is returned.
///
/// # Errors
///
/// As [`Vector::new`].
#[inline]
pub unsafe fn vector<'a>(buffers: *const libc::iovec, count: c_int) -> Result<Vector<'a>, Errno> {
    // SAFETY: passed on.
    unsafe { Vector::new::<Asked>(buffers, count) }
}
