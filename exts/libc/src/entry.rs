//! How calls come in and go out, and whether a call is to block its fibre.
//!
//! A call that is not to block its fibre is the system call as it was made. The kernel's error
//! comes in a register, and goes to `errno`.

use crate::errno;
use fibre_core::internal::{begin_plain_calls, end_plain_calls, may_stand_in};
use fibre_io::posix::boundary::Returned;
use fibre_io::posix::syscall::Syscall;
use fibre_io::raw::{Failure, NUMBERS};
use rustix::io::Errno;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

/// The descriptors that are always the system's: std holds a lock that knows its thread while it
/// writes to the standard output.
const LAST_STANDARD: c_int = 2;

/// Whether [`install`](crate::install) has been called. Relaxed: what a caller relies on lies in
/// its own processor.
static INSTALLED: AtomicBool = AtomicBool::new(false);

/// Notes that calls may block their fibres from now on.
pub(crate) fn open() {
    INSTALLED.store(true, Ordering::Relaxed);
}

/// Whether calls may block their fibres.
#[inline]
pub(crate) fn is_open() -> bool {
    INSTALLED.load(Ordering::Relaxed)
}

/// Whether a call of the calling fibre or thread may leave its stack.
#[inline]
pub(crate) fn may_switch() -> bool {
    is_open() && may_stand_in()
}

/// Whether a call on this number may leave the stack.
#[inline]
pub(crate) fn is_ours(fd: c_int) -> bool {
    fd > LAST_STANDARD && fd < NUMBERS && may_switch()
}

/// Whether what becomes of this number is noted.
#[inline]
pub(crate) fn is_noted(fd: c_int) -> bool {
    (0..NUMBERS).contains(&fd) && is_open()
}

/// Calls `f`. In it, the calling fibre's calls of the C library are the system's own, and block its
/// processor. On a plain thread, just calls `f`. Blocks what `f` blocks.
///
/// ```
/// let fibre = fibre::spawn(|| fibre_libc::plainly(|| 7));
/// assert_eq!(fibre.join().unwrap(), 7);
/// ```
///
/// # Panics
///
/// With the panic of `f`.
pub fn plainly<R>(f: impl FnOnce() -> R) -> R {
    /// While it lives, calls are plain.
    struct Plain(bool);
    impl Drop for Plain {
        fn drop(&mut self) {
            end_plain_calls(self.0);
        }
    }
    let _plain = Plain(begin_plain_calls());
    f()
}

/// Notes by `f` what has become of a descriptor. What the runtime has to wait for meanwhile, such
/// as a list that another thread makes, its kernel thread waits for: the call does not block.
#[inline]
pub(crate) fn note<R>(f: impl FnOnce() -> R) -> R {
    plainly(f)
}

/// Makes a call as it is.
#[inline(always)]
pub(crate) fn plain<T: Returned>(call: Syscall) -> T {
    finish(call.here())
}

/// A call's way out.
#[inline(always)]
pub(crate) fn finish<T: Returned>(done: Result<usize, Errno>) -> T {
    done.map_or_else(failed, T::of)
}

/// Sets the error number and returns -1.
#[cold]
pub(crate) fn failed<T: Returned>(error: Errno) -> T {
    errno::set(error.raw_os_error());
    T::FAILED
}

/// A call on a descriptor: a fibre makes it by `f`.
#[inline(always)]
pub(crate) fn on<T: Returned>(
    fd: c_int,
    call: Syscall,
    f: impl FnOnce(Syscall) -> Result<usize, Failure>,
) -> T {
    if is_ours(fd) {
        stand_in(|| f(call))
    } else {
        plain(call)
    }
}

/// A call of a fibre, which may leave the stack. A success leaves the error number alone. What the
/// runtime itself calls meanwhile is plain, as it may be in the midst of a wait.
pub(crate) fn stand_in<T: Returned>(f: impl FnOnce() -> Result<usize, Failure>) -> T {
    let number = errno::get();
    match plainly(f) {
        Ok(word) => {
            errno::set(number);
            T::of(word)
        }
        Err(Failure::Errno(error)) => failed(error),
        Err(Failure::Cancelled) => failed(Errno::CANCELED),
    }
}
