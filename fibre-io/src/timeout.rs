//! How long a call may wait.
//!
//! A socket has a [`TimeLimit`] for each direction. It has two parts, and the earlier one counts. A
//! *time-out*, as in std, is how long each call may wait, from its first wait on; the call reads it
//! then, and not again. A *deadline*, as in Go, is a moment for all calls, even for those that wait
//! already.
//!
//! So a waiter announces its wait in the gate's word, and then reads the deadline once more, under
//! the lock of the gate's list. A setter changes the deadline first and the word afterwards
//! (`GateWord::nudge`). If the nudge comes second, the setter sees the waiter and goes to the list.
//! If it comes first, the waiter sees the new deadline.
//!
//! # Memory ordering
//!
//! All accesses are relaxed: the two read-modify-writes of the gate's word order the deadline.

#[cfg(not(loom))]
use fibre_core::{Limit, internal::begin_within, shield};
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long one call may wait.
#[derive(Debug, Clone, Copy)]
pub enum Timeout<'a> {
    /// For ever.
    Endless,
    /// Until this moment. If it is past, the call tries once.
    Until(Instant),
    /// As long as its socket's limit says, which may change meanwhile.
    Set(&'a TimeLimit),
}

impl Timeout<'_> {
    /// A limit of this duration, from now on.
    #[must_use]
    pub fn within(timeout: Duration) -> Self {
        let end = Instant::now().checked_add(timeout);
        end.map_or(Self::Endless, Self::Until)
    }
}

/// The result of a call, with `None` instead of the error `TimedOut`.
///
/// # Errors
///
/// The call's others.
#[cfg(not(loom))]
pub(crate) fn none_if_late<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::TimedOut => Ok(None),
        result => result.map(Some),
    }
}

/// Makes a call within a limit. `None` says that the time was over first. Within [`Limit::None`]
/// the call does not notice cancellation.
///
/// # Errors
///
/// The call's; `ECANCELED` if the fibre has been cancelled.
#[cfg(not(loom))]
pub(crate) fn none_if_late_within<T>(
    limit: impl Into<Limit>,
    mut call: impl FnMut(Timeout<'_>) -> io::Result<T>,
) -> io::Result<Option<T>> {
    let limit = begin_within(limit)?;
    match limit {
        Limit::None => shield(|| call(Timeout::Endless)).map(Some),
        Limit::Cancellation => call(Timeout::Endless).map(Some),
        Limit::Deadline(deadline) => none_if_late(call(Timeout::Until(deadline))),
        Limit::Wall(_) => loop {
            // The clock may be set meanwhile.
            let look = limit.next_look();
            let called = none_if_late(call(Timeout::Until(look.unwrap_or_else(Instant::now))))?;
            if called.is_some() || look.is_none() {
                return Ok(called);
            }
        },
    }
}

/// A time-out and a deadline that several fibres may read while one sets them.
#[derive(Debug, Default)]
pub struct TimeLimit {
    /// The time-out in nanoseconds; zero for none.
    timeout: AtomicU64,
    /// The deadline in nanoseconds since [`origin`], plus one; zero for none.
    deadline: AtomicU64,
}

impl TimeLimit {
    /// The time-out now.
    pub fn timeout(&self) -> Option<Duration> {
        match self.timeout.load(Ordering::Relaxed) {
            0 => None,
            nanoseconds => Some(Duration::from_nanos(nanoseconds)),
        }
    }

    /// Sets the time-out.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for a zero duration, as in std.
    pub fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        let nanoseconds = match timeout {
            Some(timeout) => saturating_nanoseconds(not_zero(timeout)?),
            None => 0,
        };
        self.timeout.store(nanoseconds, Ordering::Relaxed);
        Ok(())
    }

    /// The deadline now.
    pub fn deadline(&self) -> Option<Instant> {
        let nanoseconds = self.deadline.load(Ordering::Relaxed).checked_sub(1)?;
        origin().checked_add(Duration::from_nanos(nanoseconds))
    }

    /// Sets the deadline. The caller must nudge the calls that wait already.
    pub fn set_deadline(&self, deadline: Option<Instant>) {
        let nanoseconds = deadline.map_or(0, |deadline| {
            let later = deadline.saturating_duration_since(origin());
            saturating_nanoseconds(later).saturating_add(1)
        });
        self.deadline.store(nanoseconds, Ordering::Relaxed);
    }

    /// Whether there is neither a time-out nor a deadline.
    #[inline]
    fn is_unset(&self) -> bool {
        let [timeout, deadline] =
            [&self.timeout, &self.deadline].map(|word| word.load(Ordering::Relaxed));
        timeout | deadline == 0
    }

    /// A copy, for a duplicate of the socket.
    pub fn duplicate(&self) -> Self {
        let copy = |word: &AtomicU64| AtomicU64::new(word.load(Ordering::Relaxed));
        Self {
            timeout: copy(&self.timeout),
            deadline: copy(&self.deadline),
        }
    }
}

/// How long one call may still wait.
#[derive(Debug)]
pub(crate) struct Clock<'a> {
    /// The limit that the call was given.
    timeout: Timeout<'a>,
    /// When the time-out ends that the socket had when the call first had to wait. One that is set
    /// later is for later calls.
    by_timeout: Option<Option<Instant>>,
}

/// Until when a wait lasts, and the deadline that this follows from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Term {
    /// The end; `None` for never.
    pub end: Option<Instant>,
    /// The deadline's word, as it was read.
    deadline: u64,
}

impl<'a> Clock<'a> {
    /// The clock of a call that has not waited yet.
    #[inline]
    pub(crate) fn new(timeout: Timeout<'a>) -> Self {
        Self {
            timeout,
            by_timeout: None,
        }
    }

    /// Until when the call may wait, as things are now.
    #[inline]
    pub(crate) fn term(&mut self) -> Term {
        let end = match self.timeout {
            Timeout::Endless => None,
            Timeout::Until(end) => Some(end),
            Timeout::Set(limit) if limit.is_unset() => *self.by_timeout.get_or_insert(None),
            Timeout::Set(limit) => return self.term_of(limit),
        };
        Term { end, deadline: 0 }
    }

    /// [`term`](Self::term) for a call with its socket's limit.
    fn term_of(&mut self, limit: &TimeLimit) -> Term {
        let deadline = limit.deadline.load(Ordering::Relaxed);
        let moment = if deadline == 0 {
            None
        } else {
            limit.deadline()
        };
        let from_now_on = || Instant::now().checked_add(limit.timeout()?);
        let by_timeout = *self.by_timeout.get_or_insert_with(from_now_on);
        Term {
            end: earlier(moment, by_timeout),
            deadline,
        }
    }

    /// Whether the deadline is still the one that `term` follows from.
    #[inline]
    pub(crate) fn is_current(&self, term: Term) -> bool {
        match self.timeout {
            Timeout::Endless | Timeout::Until(_) => true,
            Timeout::Set(limit) => limit.deadline.load(Ordering::Relaxed) == term.deadline,
        }
    }
}

/// The earlier one of two moments; `None` is later than all.
pub(crate) fn earlier(left: Option<Instant>, right: Option<Instant>) -> Option<Instant> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.min(right)),
        (left, right) => left.or(right),
    }
}

/// Refuses a zero time-out, as std does.
///
/// # Errors
///
/// `InvalidInput` for a zero duration.
pub(crate) fn not_zero(timeout: Duration) -> io::Result<Duration> {
    if timeout.is_zero() {
        let kind = io::ErrorKind::InvalidInput;
        return Err(io::Error::new(kind, "a time-out of zero"));
    }
    Ok(timeout)
}

/// A duration in nanoseconds, at most 584 years.
fn saturating_nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// What deadlines are counted from: a moment before the first of them was set.
pub(crate) fn origin() -> Instant {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    *ORIGIN.get_or_init(Instant::now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_are_kept_to_the_nanosecond() {
        let limit = TimeLimit::default();
        assert_eq!(limit.deadline(), None);
        limit.set_deadline(Some(Instant::now()));
        for later in [0, 1, 999, 1_000_000_007] {
            let moment = Instant::now() + Duration::from_nanos(later);
            limit.set_deadline(Some(moment));
            assert_eq!(limit.deadline(), Some(moment));
        }
        limit.set_deadline(None);
        assert_eq!(limit.deadline(), None);
    }

    #[test]
    fn what_is_long_past_is_past() {
        let limit = TimeLimit::default();
        let now = Instant::now();
        let _ = origin();
        limit.set_deadline(now.checked_sub(Duration::from_secs(1)));
        assert!(
            limit
                .deadline()
                .is_some_and(|moment| moment <= Instant::now())
        );
    }

    #[test]
    fn the_earlier_one_counts() {
        let limit = TimeLimit::default();
        let term = || Clock::new(Timeout::Set(&limit)).term().end;
        assert_eq!(term(), None);
        let soon = Instant::now() + Duration::from_secs(5);
        limit.set_deadline(Some(soon));
        limit.set_timeout(Some(Duration::from_secs(3600))).ok();
        assert_eq!(term(), Some(soon));
        limit.set_timeout(Some(Duration::from_nanos(1))).ok();
        assert!(term().is_some_and(|end| end < soon));
        limit.set_deadline(None);
        limit.set_timeout(Some(Duration::MAX)).ok();
        assert!(term().is_none_or(|end| end > soon));
        assert!(limit.set_timeout(Some(Duration::ZERO)).is_err());
    }

    #[test]
    fn a_time_out_counts_from_the_first_wait() {
        let limit = TimeLimit::default();
        limit.set_timeout(Some(Duration::from_secs(1))).ok();
        let mut clock = Clock::new(Timeout::Set(&limit));
        let first = clock.term();
        assert_eq!(clock.term().end, first.end);
        assert!(clock.is_current(first));
        // Nor does a later change of the time-out concern this call.
        limit.set_timeout(Some(Duration::from_nanos(1))).ok();
        assert_eq!(clock.term().end, first.end);
        limit.set_timeout(None).ok();
        assert_eq!(clock.term().end, first.end);
        limit.set_deadline(Some(Instant::now()));
        assert!(!clock.is_current(first));
    }

    #[test]
    fn a_time_out_that_is_set_later_is_for_later_calls() {
        let limit = TimeLimit::default();
        let mut clock = Clock::new(Timeout::Set(&limit));
        assert_eq!(clock.term().end, None);
        limit.set_timeout(Some(Duration::from_nanos(1))).ok();
        assert_eq!(clock.term().end, None);
        assert!(Clock::new(Timeout::Set(&limit)).term().end.is_some());
    }
}
