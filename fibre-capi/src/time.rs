//! Sleeping: `sleep`, `usleep`, `nanosleep`, `clock_nanosleep`.
//!
//! In a fibre they block the fibre and are cancellation points. No signal interrupts them, so no
//! time remains in the end. On a thread that is no fibre they are the system's, signals included.

use crate::boundary::{fail, keep_errno_cancellable, look_before};
use crate::cancel;
use crate::init;
use crate::memory::{duration, fetch};
use fibre_core::{Cancelled, Limit, in_fibre, sleep_within};
use fibre_io::posix::time::limit;
use libc::{clockid_t, timespec, useconds_t};
use std::ffi::{c_int, c_uint};
use std::time::Duration;

/// Sleeps so long; a cancelled fibre ends in it.
#[inline]
fn sleep_or_leave(duration: Duration) {
    sleep_until_or_leave(Limit::after(duration));
}

/// Sleeps until then; a cancelled fibre ends in it.
#[inline]
fn sleep_until_or_leave(limit: Limit) {
    if let Err(Cancelled) = keep_errno_cancellable(|| sleep_within(limit)) {
        cancel::leave();
    }
}

/// `sleep`: returns zero, as fibres are not interrupted.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn fibre_sleep(seconds: c_uint) -> c_uint {
    if !in_fibre() {
        init::let_go();
        // SAFETY: no requirement.
        return unsafe { libc::sleep(seconds) };
    }
    sleep_or_leave(Duration::from_secs(seconds.into()));
    0
}

/// `usleep`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn fibre_usleep(microseconds: useconds_t) -> c_int {
    if !in_fibre() {
        init::let_go();
        // SAFETY: no requirement.
        return unsafe { libc::usleep(microseconds) };
    }
    sleep_or_leave(Duration::from_micros(microseconds.into()));
    0
}

/// `nanosleep`: -1 and `EINVAL` if `time` is invalid, `EFAULT` if it is not there. What would
/// remain is not written, as fibres are not interrupted.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_nanosleep(
    time: *const timespec,
    remaining: *mut timespec,
) -> c_int {
    if !in_fibre() {
        init::let_go();
        // SAFETY: passed on.
        return unsafe { libc::nanosleep(time, remaining) };
    }
    // SAFETY: the caller's.
    match unsafe { fetch(time) }.and_then(|time| duration(&time)) {
        Ok(duration) => sleep_or_leave(duration),
        Err(error) => return fail(look_before(error.raw_os_error())),
    }
    0
}

/// `clock_nanosleep`: for a time, or, with `TIMER_ABSTIME`, until a clock shows it:
/// `CLOCK_REALTIME` also if that is set meanwhile, which is noticed within a second. Returns an
/// error number: `EINVAL` for a clock that is not known or does not go on while one sleeps, or if
/// `time` is invalid; `ENOTSUP` for clocks of CPU time.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn fibre_clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    remaining: *mut timespec,
) -> c_int {
    if !in_fibre() {
        init::let_go();
        // SAFETY: passed on.
        return unsafe { libc::clock_nanosleep(clock, flags, time, remaining) };
    }
    let is_absolute = flags & libc::TIMER_ABSTIME != 0;
    // SAFETY: the caller's.
    match unsafe { fetch(time) }.and_then(|time| limit(clock, is_absolute, &time)) {
        Ok(limit) => sleep_until_or_leave(limit),
        Err(error) => return look_before(error.raw_os_error()),
    }
    0
}
