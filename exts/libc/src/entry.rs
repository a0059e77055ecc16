//! How calls come in and go out, and whether a call is to block its fibre.
//!
//! A call that is not to block its fibre is the system call as it was made. The kernel's error
//! comes in a register, and goes to `errno`.

use crate::errno;
use fibre_core::internal::{
    PlainThread, begin_plain_calls, end_plain_calls, has_own_thread_locals, has_plain_calls,
    may_stand_in,
};
use fibre_core::{in_fibre, is_forked_child};
use fibre_io::posix::boundary::Returned;
use fibre_io::posix::syscall::Syscall;
use fibre_io::raw::{Failure, NUMBERS};
use rustix::io::Errno;
use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering, fence};

/// The descriptors that are the system's for fibres that share their thread-locals: std holds a
/// lock that knows its thread while it writes to the standard output.
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

/// Whether a call may leave its stack though it keeps what belongs to a thread: the caller is a
/// fibre that is a thread itself, as it has thread-locals of its own, and the runtime does not have
/// its calls plain.
#[inline]
pub(crate) fn may_switch_as_thread() -> bool {
    may_switch() && has_own_thread_locals() && !has_plain_calls()
}

/// Whether the program has asked for threads that are fibres. Relaxed, as `INSTALLED`.
static MAKES_FIBRES: AtomicBool = AtomicBool::new(false);

/// Notes that the program's threads are fibres from now on.
pub(crate) fn make_fibres() {
    MAKES_FIBRES.store(true, Ordering::Relaxed);
}

/// Whether they are.
#[cfg(not(target_feature = "crt-static"))]
#[inline]
pub(crate) fn threads_are_fibres() -> bool {
    MAKES_FIBRES.load(Ordering::Relaxed)
}

/// Whether a thread that the caller starts is a fibre: not those of the runtime, of a stretch of
/// plain calls, of a forked child, or of fibres that names do nothing for.
#[cfg_attr(
    target_feature = "crt-static",
    allow(dead_code, reason = "such a program has no `pthread_create` of ours")
)]
pub(crate) fn makes_fibres() -> bool {
    let asked = MAKES_FIBRES.load(Ordering::Relaxed) && !has_plain_calls() && !is_forked_child();
    asked && (may_stand_in() || !in_fibre())
}

/// What is asked when a thread may have to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cancelling {
    /// Whether it is to end.
    Ask,
    /// Whether it is to end, and if so, to end it.
    End,
}

/// The function that knows which threads are to end; null before there has been one. Relaxed: the
/// caller that is to end learns of its request after this was set.
static ACT: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// Notes the function that knows which threads are to end.
#[cfg_attr(
    target_feature = "crt-static",
    allow(dead_code, reason = "such a program has no `pthread_cancel` of ours")
)]
pub(crate) fn make_cancellation_points(act: fn(Cancelling) -> bool) {
    ACT.store(act as *mut (), Ordering::Relaxed);
}

/// Asks that function.
#[inline]
fn cancelling(wish: Cancelling) -> bool {
    let act = ACT.load(Ordering::Relaxed);
    // SAFETY: what is there is such a function.
    !act.is_null() && unsafe { std::mem::transmute::<*mut (), fn(Cancelling) -> bool>(act) }(wish)
}

/// Ends the calling thread, a fibre that the program has cancelled, if it is to end. No frame
/// between C and this has anything to drop.
#[inline]
pub(crate) fn cancellation_point() {
    let _ = cancelling(Cancelling::End);
}

/// The same after a wait that was cancelled, which it may have been by the request.
pub(crate) fn cancellation_point_after_wait() {
    learn();
    cancellation_point();
}

/// Sees what came before the cancellation that the caller has seen: a wait that finds itself
/// cancelled when it begins orders nothing.
fn learn() {
    fence(Ordering::Acquire);
}

/// Whether the next [`cancellation_point`] ends the calling thread, asked after a wait that was
/// cancelled. In a stretch of plain calls that call ends nothing, and this does not know of it.
#[inline]
pub(crate) fn is_to_end() -> bool {
    learn();
    cancelling(Cancelling::Ask)
}

/// Whether a call on this number may leave the stack.
#[inline]
pub(crate) fn is_ours(fd: c_int) -> bool {
    (0..NUMBERS).contains(&fd) && may_switch() && !is_shared(fd)
}

/// Whether it is a standard descriptor, in a fibre that shares its thread-locals.
fn is_shared(fd: c_int) -> bool {
    fd <= LAST_STANDARD && !has_own_thread_locals()
}

/// Whether what becomes of this number is noted.
#[inline]
pub(crate) fn is_noted(fd: c_int) -> bool {
    (0..NUMBERS).contains(&fd) && is_open()
}

/// Calls `f`. In it, the calling fibre's calls of the C library are the system's own, and block its
/// processor, and threads that it starts are the kernel's. On a plain thread only the latter is so.
/// Blocks what `f` blocks.
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
    // Threads of a fibre that shares its thread-locals are told by the fibre.
    let _thread = (!in_fibre()).then(PlainThread::begin);
    plain_calls(f)
}

/// The same for the calls of a fibre only.
pub(crate) fn plain_calls<R>(f: impl FnOnce() -> R) -> R {
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
    plain_calls(f)
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
    if (0..NUMBERS).contains(&fd) && may_switch() {
        return by_fibre(fd, call, f);
    }
    plain(call)
}

/// The same in a fibre, where names stand in. In the midst of the runtime's own it stays plain.
/// Apart, and the last that is done: so a plain thread's call keeps no registers for it.
#[inline(never)]
fn by_fibre<T: Returned>(
    fd: c_int,
    call: Syscall,
    f: impl FnOnce(Syscall) -> Result<usize, Failure>,
) -> T {
    cancellation_point();
    match is_shared(fd) || has_plain_calls() {
        true => plain(call),
        false => stand_in(|| f(call)),
    }
}

/// A call of a fibre that is a cancellation point, and may leave the stack. A success leaves the
/// error number alone. What the runtime itself calls meanwhile is plain, as it may be in the midst
/// of a wait.
pub(crate) fn stand_in<T: Returned>(f: impl FnOnce() -> Result<usize, Failure>) -> T {
    // Another failure may have come after the request.
    stand_in_or(f, cancellation_point_after_wait)
}

/// The same for a call that is no cancellation point. Its callers may hold locks.
pub(crate) fn stand_in_to_end<T: Returned>(f: impl FnOnce() -> Result<usize, Failure>) -> T {
    stand_in_or(f, || ())
}

/// The same, with what a failure does first.
fn stand_in_or<T: Returned>(
    f: impl FnOnce() -> Result<usize, Failure>,
    failed_first: impl FnOnce(),
) -> T {
    let number = errno::get();
    match plain_calls(f) {
        Ok(word) => {
            errno::set(number);
            T::of(word)
        }
        Err(failure) => {
            failed_first();
            failed(match failure {
                Failure::Errno(error) => error,
                Failure::Cancelled => Errno::CANCELED,
            })
        }
    }
}
