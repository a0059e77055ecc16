//! Times of clocks, as the end of a sleep.

use super::memory::duration;
use fibre_core::{Limit, WallTime};
use libc::{clockid_t, timespec};
use rustix::io::Errno;

/// Until when to sleep by a clock: for a duration, or until the clock shows a time.
///
/// # Errors
///
/// `EINVAL` for a clock that is not known or does not go on while one sleeps, and for what is no
/// time; `ENOTSUP` for the process's CPU time.
pub fn limit(clock: clockid_t, absolute: bool, time: &timespec) -> Result<Limit, Errno> {
    match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC | libc::CLOCK_BOOTTIME | libc::CLOCK_TAI => {}
        libc::CLOCK_PROCESS_CPUTIME_ID => return Err(Errno::NOTSUP),
        _ => return Err(Errno::INVAL),
    }
    let then = duration(time)?;
    if !absolute {
        return Ok(Limit::after(then));
    }
    if clock == libc::CLOCK_REALTIME {
        // One that the clock will never show does not count.
        let moment = WallTime::new(time.tv_sec, then.subsec_nanos());
        return Ok(moment.map_or(Limit::Cancellation, Limit::Wall));
    }
    let mut now = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a place of ours.
    if unsafe { libc::clock_gettime(clock, &raw mut now) } != 0 {
        return Err(Errno::INVAL);
    }
    let now = duration(&now).unwrap_or_default();
    Ok(Limit::after(then.saturating_sub(now)))
}
