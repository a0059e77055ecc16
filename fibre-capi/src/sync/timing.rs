//! The deadlines that C programs give.

use fibre_sync::raw::{Clock, Error, Result, Wait};
use libc::{clockid_t, timespec};
use std::time::Instant;

/// Until when a call waits, as the program has said it.
#[derive(Debug, Clone, Copy)]
pub enum Until {
    /// For ever.
    Forever,
    /// By the clock that the call's name implies.
    Time(*const timespec),
    /// By this clock.
    Clock(clockid_t, *const timespec),
}

impl Until {
    /// The clock that the deadline is told by; `implied` if the call's name says which.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] for a clock that has no deadlines.
    #[inline(always)]
    pub fn clock(self, implied: Clock) -> Result<Clock> {
        match self {
            Self::Forever | Self::Time(_) => Ok(implied),
            Self::Clock(number, _) => clock(number),
        }
    }

    /// The wait of a call on one of ours.
    ///
    /// # Errors
    ///
    /// Those of [`clock`](Self::clock); [`Error::Invalid`] if the time is none, or null.
    ///
    /// # Safety
    ///
    /// The time is there, or null.
    #[inline(always)]
    pub unsafe fn wait(self, implied: Clock) -> Result<Wait> {
        let clock = self.clock(implied)?;
        match self {
            Self::Forever => Ok(Wait::FOREVER),
            // SAFETY: the caller's promise.
            Self::Time(time) | Self::Clock(_, time) => unsafe { until(clock, time) },
        }
    }

    /// Whether there is no time where one is due, which the system does not look at.
    pub fn is_null(self) -> bool {
        match self {
            Self::Forever => false,
            Self::Time(time) | Self::Clock(_, time) => time.is_null(),
        }
    }

    /// Whether a call would not wait: the time has come by now, or it is none, or there is no such
    /// clock.
    ///
    /// # Safety
    ///
    /// The time is there, and by the clock of real time if the call's name implies one.
    pub unsafe fn is_over(self) -> bool {
        let (clock, deadline) = match self {
            Self::Forever => return false,
            Self::Time(deadline) => (libc::CLOCK_REALTIME, deadline),
            Self::Clock(clock, deadline) => (clock, deadline),
        };
        let mut now = timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: a place of ours, and the caller's promise.
        let (told, end) = unsafe { (libc::clock_gettime(clock, &raw mut now), *deadline) };
        told != 0
            || !(0..1_000_000_000).contains(&end.tv_nsec)
            || (now.tv_sec, now.tv_nsec) >= (end.tv_sec, end.tv_nsec)
    }
}

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
