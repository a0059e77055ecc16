//! What may end a wait besides its waker, and what a call fails with then.
//!
//! [`Limit`] explains the semantics of all forms of waiting calls.

use crate::wait::cancelled::Cancelled;
use crate::wait::wall_clock::WallTime;
use std::error::Error;
use std::fmt;
use std::io;
use std::time::{Duration, Instant};

/// What may end a wait, besides what is waited for. As small as an [`Instant`].
///
/// A call that waits has up to four forms. They are called here as those of a mutex:
///
/// | form | waits | fails |
/// |---|---|---|
/// | `lock()` | for as long as it takes | never; it does not notice cancellation |
/// | `try_lock()` | not at all | if it would have to wait |
/// | `lock_timeout(duration)` | for so long at most | if the time is over, or the fibre is cancelled |
/// | `lock_within(limit)` | until the limit comes | with a [`WaitError`], which says what came |
///
/// The limit is a moment ([`Instant`]), a time from now on ([`Duration`]), or one of the values
/// below. A fibre waits for one of them or for what it wants, whatever comes first; a plain thread
/// is never cancelled.
///
/// ```
/// use fibre::sync::Semaphore;
/// use fibre::{Limit, WaitError};
/// use std::time::{Duration, Instant};
///
/// let permits = Semaphore::new(1);
/// // This moment has come already: the call tries once.
/// assert_eq!(permits.acquire_within(Instant::now()), Ok(()));
/// let soon = Duration::from_millis(1);
/// assert_eq!(permits.acquire_within(soon), Err(WaitError::TimedOut));
///
/// let waits = fibre::spawn(move || permits.acquire_within(Limit::Cancellation));
/// waits.cancel();
/// assert_eq!(waits.join().unwrap(), Err(WaitError::Cancelled));
/// ```
///
/// **Cancellation** ends every wait that has a limit, unless the fibre is in a
/// [`shield`](crate::shield). Before it waits,
///
/// * a call within [`Limit::Cancellation`] is a cancellation point: in a fibre that has been
///   cancelled it fails without a try, and lets other fibres run;
/// * a call with a time, `…_timeout` forms included, tries once, even if the time is over or the
///   fibre has been cancelled. So a cancelled fibre can still tidy up.
///
/// A wait that its waker has ended before the limit came has succeeded: no permit, no value and no
/// notification is lost. A call that has failed has taken nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Nothing else ends the wait, and the call cannot fail.
    None,
    /// The fibre's cancellation.
    Cancellation,
    /// This moment, or the fibre's cancellation.
    Deadline(Instant),
    /// This moment of the wall clock, or the fibre's cancellation.
    Wall(WallTime),
}

impl Limit {
    /// Cancellation, and a deadline if there is one.
    #[inline]
    #[must_use]
    pub fn of(deadline: Option<Instant>) -> Self {
        deadline.map_or(Self::Cancellation, Self::Deadline)
    }

    /// Cancellation, and the moment that comes after `timeout`, unless that is beyond the
    /// clock's range.
    #[must_use]
    pub fn after(timeout: Duration) -> Self {
        Self::of(Instant::now().checked_add(timeout))
    }

    /// The latest moment at which the wait ends, if that is one of the monotonic clock.
    #[inline]
    #[must_use]
    pub fn deadline(self) -> Option<Instant> {
        match self {
            Self::Deadline(deadline) => Some(deadline),
            Self::None | Self::Cancellation | Self::Wall(_) => None,
        }
    }

    /// When the waiting side looks next whether the limit has come, as far as that is a matter of
    /// time; `None` if it has come. A lock that spins asks this.
    #[must_use]
    pub fn next_look(self) -> Option<Instant> {
        match self {
            Self::Deadline(deadline) => {
                Some(deadline).filter(|&deadline| Instant::now() < deadline)
            }
            Self::Wall(moment) => moment.next_look(),
            Self::None | Self::Cancellation => None,
        }
    }

    /// Whether time ends the wait.
    #[inline]
    #[must_use]
    pub fn is_timed(self) -> bool {
        matches!(self, Self::Deadline(_) | Self::Wall(_))
    }
}

/// A moment of the monotonic clock becomes a [`Limit::Deadline`].
impl From<Instant> for Limit {
    #[inline]
    fn from(deadline: Instant) -> Self {
        Self::Deadline(deadline)
    }
}

/// A time from now on becomes what [`Limit::after`] makes of it.
impl From<Duration> for Limit {
    fn from(timeout: Duration) -> Self {
        Self::after(timeout)
    }
}

/// Why a call within a [`Limit`] has not done what it was asked for. As an [`io::Error`] it is
/// [`TimedOut`](io::ErrorKind::TimedOut), or what [`Cancelled`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitError {
    /// The time is over.
    TimedOut,
    /// The fibre has been cancelled.
    Cancelled,
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut => f.write_str("the wait has timed out"),
            Self::Cancelled => Cancelled.fmt(f),
        }
    }
}

impl Error for WaitError {}

impl From<Cancelled> for WaitError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

impl From<WaitError> for io::Error {
    fn from(error: WaitError) -> Self {
        match error {
            WaitError::TimedOut => io::ErrorKind::TimedOut.into(),
            WaitError::Cancelled => Cancelled.into(),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::wait::cancelled::is_cancelled_error;

    #[test]
    fn only_time_has_to_be_looked_for() {
        let now = Instant::now();
        let later = now + Duration::from_secs(3600);
        let wall = Limit::Wall(WallTime::now());
        assert_eq!(Limit::of(None), Limit::Cancellation);
        assert_eq!(Limit::of(Some(later)), Limit::Deadline(later));
        assert_eq!(Limit::after(Duration::MAX), Limit::Cancellation);
        assert_eq!(Limit::Deadline(later).deadline(), Some(later));
        assert_eq!(Limit::Deadline(later).next_look(), Some(later));
        assert_eq!(Limit::Deadline(now).next_look(), None);
        assert!(Limit::Deadline(now).is_timed() && wall.is_timed());
        for limit in [Limit::None, Limit::Cancellation] {
            assert_eq!(limit.deadline(), None);
            assert_eq!(limit.next_look(), None);
            assert!(!limit.is_timed());
        }
        assert_eq!(wall.deadline(), None);
    }

    #[test]
    fn moments_and_times_are_limits() {
        let (now, hour) = (Instant::now(), Duration::from_secs(3600));
        assert_eq!(Limit::from(now), Limit::Deadline(now));
        let after = Limit::from(hour).deadline();
        assert!(after.is_some_and(|after| after >= now + hour));
        assert_eq!(Limit::from(Duration::MAX), Limit::Cancellation);
    }

    #[test]
    fn errors_say_what_came() {
        let late = io::Error::from(WaitError::TimedOut);
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        assert!(!is_cancelled_error(&late));
        let cancelled = WaitError::from(Cancelled);
        assert_eq!(cancelled.to_string(), Cancelled.to_string());
        assert!(is_cancelled_error(&cancelled.into()));
    }
}
