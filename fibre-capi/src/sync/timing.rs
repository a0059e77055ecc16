//! The deadlines that C programs give.

use fibre_sync::raw::{Clock, Error, Result, Wait};
use libc::{clockid_t, timespec};
use std::time::Instant;

/// The clock with this number, if deadlines may be told by it.
///
/// # Errors
///
/// [`Error::Invalid`].
pub fn clock(number: clockid_t) -> Result<Clock> {
    match number {
        libc::CLOCK_REALTIME => Ok(Clock::Realtime),
        libc::CLOCK_MONOTONIC => Ok(Clock::Monotonic),
        _ => Err(Error::Invalid),
    }
}

/// The wait until a clock shows a time.
///
/// # Errors
///
/// [`Error::Invalid`] if that is no time, or null.
///
/// # Safety
///
/// The pointer is null, or points to a time.
pub unsafe fn until(clock: Clock, time: *const timespec) -> Result<Wait> {
    // SAFETY: the caller's promise.
    let time = unsafe { time.as_ref() }.ok_or(Error::Invalid)?;
    Wait::at(clock, time.tv_sec, time.tv_nsec)
}

/// A call whose deadline is looked at only if it has to wait: with a bad one it tries once.
///
/// # Errors
///
/// Those of the call, and [`Error::Invalid`].
pub fn lenient(wait: Result<Wait>, call: impl FnOnce(Wait) -> Result) -> Result {
    match wait {
        Ok(wait) => call(wait),
        Err(invalid) => match call(Wait::until(Instant::now())) {
            Err(Error::TimedOut) => Err(invalid),
            result => result,
        },
    }
}
