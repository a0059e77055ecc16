//! What each call from C does on its way in and out.
//!
//! * A panic, which would be a bug of ours or of the system's memory, ends the process with a
//!   message and the fibre's number: nothing unwinds into C.
//! * A call that may leave the stack keeps the error number: the fibre may be on another thread
//!   afterwards, and others have run on this one.
//! * The error of a call becomes a return value as POSIX has it. [`call`] is for the functions
//!   of threads, which return error numbers and leave `errno` alone; [`posix_raw_or_leave`] for
//!   those that return -1 and set it.
//! * A call that its fibre's cancellation has ended does not return: [`call_or_leave`] and
//!   [`posix_raw_or_leave`] are cancellation points. Nothing that has to be dropped may live in the
//!   frames of their callers.
//! * A request that is pending acts in every cancellation point, also in one that fails or ends at
//!   once. The calls below look for one on their way in wherever they could go on, so only by an
//!   error does a fibre come out that has not looked: there it looks here ([`look_before`]). After
//!   a success no call looks, as its work would be lost. Calls of input and output, which work in
//!   many ways, all look on their way in, and before an error or the end of a stream comes out
//!   (`io::entry`).

use crate::errno;
use crate::exit::leave;
use crate::init;
use fibre_core::cancellation_point;
use fibre_core::internal::{abort_with, outside_scopes};
use fibre_sync::raw;
use std::ffi::c_int;
use std::io;
use std::mem;

/// Ends the process if it is dropped, which only a panic does.
struct Contained;

impl Drop for Contained {
    #[cold]
    fn drop(&mut self) {
        match (fibre_core::id(), fibre_core::name()) {
            (Some(id), Some(name)) => {
                abort_with(format_args!("a call of fibre {id} ({name:?}) panicked"))
            }
            (Some(id), None) => abort_with(format_args!("a call of fibre {id} panicked")),
            (None, _) => abort_with(format_args!("a call of a thread panicked")),
        }
    }
}

/// Calls `f`, which does not leave the stack. A panic ends the process.
#[inline(always)]
pub fn contain<R>(f: impl FnOnce() -> R) -> R {
    let contained = Contained;
    let result = f();
    mem::forget(contained);
    result
}

/// [`contain`] for calls that take something or fail, and that a program may repeat until they
/// succeed.
#[inline(always)]
pub fn attempt<R>(f: impl FnOnce() -> R) -> R {
    init::let_go();
    contain(f)
}

/// Calls `f`, which may leave the stack, and keeps the error number meanwhile. A panic ends the
/// process.
#[inline(always)]
pub fn keep_errno<R>(f: impl FnOnce() -> R) -> R {
    init::let_go();
    let number = errno::leave();
    let result = contain(f);
    errno::come_back(number);
    result
}

/// [`keep_errno`] for a cancellation point. The end of a `fibre::timeout` around C is not the
/// fibre's cancellation: it goes on here, and the next call of Rust's notices that.
#[inline(always)]
pub fn keep_errno_cancellable<R>(f: impl FnOnce() -> R) -> R {
    keep_errno(|| outside_scopes(f))
}

/// The error number that a result stands for; zero for success.
#[inline(always)]
pub fn number(result: raw::Result) -> c_int {
    match result {
        Ok(()) => 0,
        Err(error) => error.number(),
    }
}

/// A call that may leave the stack, and returns an error number.
#[inline(always)]
pub fn call(f: impl FnOnce() -> raw::Result) -> c_int {
    number(keep_errno(f))
}

/// [`call`] on an object that may be one of the system's: then `system` is called, and returns an
/// error number.
#[inline(always)]
pub fn call_or(f: impl FnOnce() -> raw::Result, system: impl FnOnce() -> c_int) -> c_int {
    match keep_errno(f) {
        Err(raw::Error::Foreign) => on_system(system),
        result => number(result),
    }
}

/// A call on an object of the system's, which may leave the stack, and returns an error number.
#[cold]
pub fn on_system(call: impl FnOnce() -> c_int) -> c_int {
    keep_errno(call)
}

/// The same; a cancelled fibre ends in it.
#[cold]
pub fn on_system_or_leave(call: impl FnOnce() -> c_int) -> c_int {
    match keep_errno_cancellable(call) {
        libc::ECANCELED => leave(),
        0 => 0,
        number => look_before(number),
    }
}

/// [`call`]; a cancelled fibre ends in it.
#[inline(always)]
pub fn call_or_leave(f: impl FnOnce() -> raw::Result) -> c_int {
    match keep_errno_cancellable(f) {
        Err(raw::Error::Cancelled) => leave(),
        Err(error) => look_before(error.number()),
        Ok(()) => 0,
    }
}

/// [`call_or_leave`] that returns -1 and sets the error number if it fails.
#[inline(always)]
pub fn posix_raw_or_leave(f: impl FnOnce() -> raw::Result) -> c_int {
    match keep_errno_cancellable(f) {
        Err(raw::Error::Cancelled) => leave(),
        Err(error) => fail(look_before(error.number())),
        Ok(()) => 0,
    }
}

/// An error on its way out of a cancellation point: a fibre that has been cancelled ends instead.
/// No frame between this and C has anything to drop.
#[cold]
pub fn look_before(number: c_int) -> c_int {
    if keep_errno_cancellable(cancellation_point).is_err() {
        leave();
    }
    number
}

/// Sets the error number and returns -1.
#[cold]
pub fn fail(number: c_int) -> c_int {
    errno::set(number);
    -1
}

/// The error number that an error stands for.
#[cold]
pub fn number_of(error: &io::Error) -> c_int {
    use io::ErrorKind;
    if let Some(number) = error.raw_os_error() {
        return number;
    }
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::OutOfMemory => libc::EAGAIN,
        ErrorKind::TimedOut => libc::ETIMEDOUT,
        ErrorKind::InvalidInput => libc::EINVAL,
        ErrorKind::Unsupported => libc::ENOTSUP,
        ErrorKind::Deadlock => libc::EDEADLK,
        ErrorKind::ConnectionAborted => libc::EBADF,
        ErrorKind::UnexpectedEof => libc::EIO,
        ErrorKind::Interrupted => libc::EINTR,
        _ => libc::EAGAIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn errors_are_numbers() {
        errno::set(7);
        assert_eq!(call(|| Err(raw::Error::Busy)), libc::EBUSY);
        assert_eq!((call(|| Ok(())), errno::get()), (0, 7));
        assert_eq!(posix_raw_or_leave(|| Err(raw::Error::Again)), -1);
        assert_eq!(errno::get(), libc::EAGAIN);
    }

    /// The end of a time-out around C is no cancellation: no call ends its fibre or thread, and the
    /// next call of Rust's is ended. `leave` would end the process here.
    #[test]
    fn a_time_out_around_c_is_no_cancellation() {
        let body = || {
            let late = fibre_core::timeout(Duration::ZERO, || {
                crate::cancel::fibre_testcancel();
                assert_eq!(look_before(7), 7);
                assert_eq!(crate::time::fibre_usleep(1000), 0);
                // SAFETY: a time, and nowhere to write.
                let slept = unsafe {
                    let time = libc::timespec {
                        tv_sec: 0,
                        tv_nsec: 1,
                    };
                    crate::time::fibre_nanosleep(&raw const time, std::ptr::null_mut())
                };
                assert_eq!(slept, 0);
                fibre_core::sleep(Duration::from_secs(3600));
            });
            late.is_err()
        };
        assert!(body());
        assert!(fibre_core::spawn(body).join().unwrap());
    }

    #[test]
    fn the_number_is_kept_over_a_switch() {
        let fibre = fibre_core::spawn(|| {
            errno::set(1);
            let other = fibre_core::spawn(|| errno::set(2));
            let kept = keep_errno(|| other.join().is_ok());
            (kept, errno::get())
        });
        assert_eq!(fibre.join().unwrap(), (true, 1));
    }
}
