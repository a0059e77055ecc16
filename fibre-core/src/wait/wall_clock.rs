//! Deadlines on the wall clock (`CLOCK_REALTIME`).
//!
//! In POSIX, deadlines on this clock follow it when it is set, forwards or back. The monotonic
//! clock cannot tell when such a deadline comes. So the waiting side looks at the wall clock at the
//! time when the deadline would come if nothing happened, and every second before. A clock set
//! forwards is noticed within a second, and one set back at the next look. A look disturbs nobody:
//! a timer puts itself off, and the fibre's wait, its place in a list included, stays as it is.
//! (`TFD_TIMER_CANCEL_ON_SET` would report it at once, but needs a thread that waits for it, and a
//! list of all such waits.)

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The longest time between two looks at the clock.
const LOOK: Duration = Duration::from_secs(1);

/// Nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;

/// A moment of the wall clock (`CLOCK_REALTIME`), from 1970 on. A wait within it
/// ([`Limit::Wall`](crate::Limit::Wall)) follows the clock when that is set: forwards within a
/// second, back at the next look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WallTime(
    /// Nanoseconds since the beginning of 1970.
    u64,
);

impl WallTime {
    /// The moment at which the clock shows this time. A time before 1970 gives the beginning of
    /// that year; `None` for a time that the clock will not show before the year 2554.
    ///
    /// ```
    /// use fibre::{Limit, WallTime};
    ///
    /// let past = WallTime::new(1_000_000_000, 0).map(Limit::Wall);
    /// assert!(past.is_some());
    /// assert!(WallTime::new(i64::MAX, 0).is_none());
    /// ```
    #[must_use]
    pub fn new(seconds: i64, nanoseconds: u32) -> Option<Self> {
        let Ok(seconds) = u64::try_from(seconds) else {
            return Some(Self(0));
        };
        let whole = seconds.checked_mul(SECOND)?;
        whole.checked_add(nanoseconds.into()).map(Self)
    }

    /// What the clock shows now.
    #[must_use]
    pub fn now() -> Self {
        // By std: a test kit replaces its clocks.
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        // A time before 1970 counts as the beginning of that year.
        let now = now.unwrap_or_default().as_nanos();
        Self(u64::try_from(now).unwrap_or(u64::MAX))
    }

    /// How long the waiting side need not look at a clock that shows `now`; `None` if this moment
    /// has come.
    pub(crate) fn wait_at(self, now: Self) -> Option<Duration> {
        let left = self.0.checked_sub(now.0).filter(|&left| left > 0)?;
        Some(Duration::from_nanos(left).min(LOOK))
    }

    /// Whether the moment comes before this one of the monotonic clock, if nobody sets the clock.
    #[cfg_attr(loom, allow(dead_code, reason = "models have no scopes"))]
    pub(crate) fn is_before(self, deadline: Instant) -> bool {
        let left = self.0.saturating_sub(Self::now().0);
        let moment = Instant::now().checked_add(Duration::from_nanos(left));
        moment.is_some_and(|moment| moment < deadline)
    }

    /// When to look at the clock next; `None` if it shows this moment, or a later one.
    pub(crate) fn next_look(self) -> Option<Instant> {
        self.wait_at(Self::now()).map(|wait| Instant::now() + wait)
    }

    /// Whether the clock shows this moment, or a later one.
    #[must_use]
    pub fn has_come(self) -> bool {
        self.wait_at(Self::now()).is_none()
    }
}

#[cfg(test)]
impl WallTime {
    /// The moment that comes `later` after this one.
    pub fn after(self, later: Duration) -> Self {
        Self(self.0 + later.as_nanos() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_a_second_apart_at_most() {
        let at = |seconds, nanoseconds| WallTime::new(seconds, nanoseconds).unwrap();
        let then = at(1000, 7);
        assert_eq!(then.wait_at(at(0, 0)), Some(LOOK));
        assert_eq!(then.wait_at(at(999, 7)), Some(LOOK));
        assert_eq!(
            then.wait_at(at(999, 8)),
            Some(LOOK - Duration::from_nanos(1))
        );
        assert_eq!(then.wait_at(at(1000, 6)), Some(Duration::from_nanos(1)));
        assert_eq!(then.wait_at(then), None);
        assert_eq!(then.wait_at(at(i64::from(u32::MAX), 0)), None);
        assert_eq!(at(-5, 0), at(0, 0));
        assert!(at(0, 0).has_come() && !at(1 << 33, 0).has_come());
    }
}
