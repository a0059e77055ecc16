//! The time of a run, in nanoseconds since it began, and its marks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The clock of a run. The marks are set once, before the requests are let loose that look at them.
#[derive(Debug)]
pub(crate) struct Clock {
    /// When the run began.
    origin: Instant,
    /// When counting begins.
    begin: AtomicU64,
    /// When counting ends, and with it the sending.
    end: AtomicU64,
}

impl Clock {
    /// Begins now; nothing counts.
    #[must_use]
    pub(crate) fn start() -> Self {
        Self {
            origin: Instant::now(),
            begin: AtomicU64::new(u64::MAX),
            end: AtomicU64::new(u64::MAX),
        }
    }

    /// The time since the beginning, in nanoseconds.
    #[inline]
    #[must_use]
    pub(crate) fn now(&self) -> u64 {
        nanoseconds(self.origin.elapsed())
    }

    /// A time of this clock, for those who know another.
    #[must_use]
    pub(crate) fn instant(&self, time: u64) -> Instant {
        self.origin + Duration::from_nanos(time)
    }

    /// Lets the time that counts begin and end.
    pub(crate) fn set(&self, begin: u64, end: u64) {
        self.begin.store(begin, Ordering::Relaxed);
        self.end.store(end, Ordering::Relaxed);
    }

    /// Whether a time counts.
    #[inline]
    #[must_use]
    pub(crate) fn counts(&self, time: u64) -> bool {
        time >= self.begin.load(Ordering::Relaxed) && time < self.end()
    }

    /// Whether any of the time from one moment to another counts.
    #[must_use]
    pub(crate) fn counts_between(&self, from: u64, to: u64) -> bool {
        from < self.end() && to >= self.begin.load(Ordering::Relaxed)
    }

    /// When sending ends.
    #[inline]
    #[must_use]
    pub(crate) fn end(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }
}

/// A duration as this clock counts.
#[must_use]
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
