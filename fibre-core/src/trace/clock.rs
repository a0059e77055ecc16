//! The clock of the event trace.
//!
//! The CPU's time stamp counter stamps events. Two readings of it, together with the kernel's
//! clocks, tell how long a tick is: one from the beginning, one from the time when the trace is
//! read.

use crate::arch;
use rustix::time::{ClockId, clock_gettime};
use std::sync::atomic::{AtomicU64, Ordering};

/// The time stamp counter when the recording began.
static FIRST_TICK: AtomicU64 = AtomicU64::new(0);

/// Has ticks counted from now on.
pub(super) fn begin() {
    FIRST_TICK.store(ticks(), Ordering::Relaxed);
}

/// The clocks at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceClock {
    /// Ticks since the recording began, which events are stamped with.
    pub ticks: u64,
    /// `CLOCK_MONOTONIC`, in nanoseconds.
    pub monotonic: u64,
    /// `CLOCK_REALTIME`, in nanoseconds since 1970.
    pub realtime: u64,
}

impl TraceClock {
    /// The clocks now.
    pub(super) fn now() -> Self {
        let nanoseconds = |clock| {
            let now = clock_gettime(clock);
            now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
        };
        let reading = || {
            let before = ticks();
            let monotonic = nanoseconds(ClockId::Monotonic);
            let after = ticks();
            (after.wrapping_sub(before), before, monotonic)
        };
        // The quickest of some readings: a thread may lose its CPU in any of them.
        let all = std::iter::repeat_with(reading).take(8);
        let (took, before, monotonic) = all.min().unwrap_or_else(reading);
        Self {
            ticks: before + took / 2,
            monotonic,
            realtime: nanoseconds(ClockId::Realtime),
        }
    }
}

/// The time stamp counter, from the beginning of the recording on.
#[inline]
pub(super) fn ticks() -> u64 {
    arch::time_stamp().wrapping_sub(FIRST_TICK.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clocks_go_on_together() {
        let first = TraceClock::now();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let second = TraceClock::now();
        assert!(second.ticks > first.ticks);
        assert!(second.monotonic >= first.monotonic + 2_000_000);
        assert!(second.realtime > 1_600_000_000_000_000_000);
    }
}
