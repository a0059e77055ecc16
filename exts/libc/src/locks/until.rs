//! How long a call on a lock waits.

use fibre_sync::raw::{Clock, Result, Wait};
use libc::{clockid_t, timespec};

/// A time that is over, for calls that only look, and say what they would not wait for.
pub(super) static OVER: timespec = timespec {
    tv_sec: -1,
    tv_nsec: 0,
};

/// Until when a call waits.
#[derive(Clone, Copy)]
pub(super) struct Until {
    /// The clock.
    pub(super) clock: clockid_t,
    /// The caller's time; null stands for no limit.
    pub(super) time: *const timespec,
}

impl Until {
    /// No limit.
    pub(super) const FOREVER: Self = Self {
        clock: libc::CLOCK_REALTIME,
        time: std::ptr::null(),
    };

    /// The same for the table; an error number for a time, or a clock, that there is not.
    ///
    /// # Safety
    ///
    /// The caller's time, or null.
    pub(super) unsafe fn wait(self) -> Result<Wait> {
        let clock = match self.clock {
            libc::CLOCK_REALTIME => Clock::Realtime,
            libc::CLOCK_MONOTONIC => Clock::Monotonic,
            _ => return Err(fibre_sync::raw::Error::Invalid),
        };
        // SAFETY: the caller's promise.
        unsafe { self.time.as_ref() }.map_or(Ok(Wait::FOREVER), |time| {
            Wait::at(clock, time.tv_sec, time.tv_nsec)
        })
    }
}
