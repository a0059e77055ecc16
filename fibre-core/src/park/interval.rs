//! Doing something again and again, at equal intervals.

use crate::park::arm::{Arm, Entered, Left};
use crate::park::sleep::sleep_to;
use crate::park::{Waiter, doze, within};
use crate::wait::limit::{Limit, WaitError};
use std::time::{Duration, Instant};

/// Ticks at equal intervals, without drift: each is due at a multiple of the period after the
/// start, however late the one before has been noticed.
///
/// ```
/// use fibre::Interval;
/// use std::time::{Duration, Instant};
///
/// let start = Instant::now();
/// let mut interval = Interval::new(Duration::from_millis(2));
/// for count in 1..=3 {
///     let due = interval.tick();
///     assert!(due >= start + count * Duration::from_millis(2));
///     assert!(Instant::now() >= due);
/// }
/// ```
#[doc(alias("Ticker", "NewTicker", "timerfd"))]
#[derive(Debug, Clone)]
pub struct Interval {
    /// When the next tick is due; `None` if that is beyond the clock's range.
    next: Option<Instant>,
    /// The time from one tick to the next.
    period: Duration,
}

impl Interval {
    /// Ticks every `period`, first when one period is over.
    ///
    /// # Panics
    ///
    /// If the period is zero.
    #[must_use]
    pub fn new(period: Duration) -> Self {
        Self::starting_at(Instant::now().checked_add(period), period)
    }

    /// Ticks every `period`, first at `start`; never without a `start`.
    ///
    /// # Panics
    ///
    /// If the period is zero.
    #[must_use]
    pub fn starting_at(start: Option<Instant>, period: Duration) -> Self {
        assert!(!period.is_zero(), "an interval of no time at all");
        Self {
            next: start,
            period,
        }
    }

    /// Waits for the next tick, and returns the time at which it was due. Blocks the fibre, or the
    /// thread if the caller is not a fibre.
    ///
    /// Missed ticks come at once, one per call; [`skip_missed`](Self::skip_missed) forgets them. A
    /// tick beyond the clock's range never comes.
    pub fn tick(&mut self) -> Instant {
        loop {
            sleep_to(self.next);
            if let Some(due) = self.next {
                self.next = due.checked_add(self.period);
                return due;
            }
        }
    }

    /// Like [`tick`](Self::tick), but gives up after `timeout`, or when the fibre is cancelled:
    /// then `None`, and the tick is still to come. One that is due is returned in any case.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let mut hours = fibre::Interval::new(Duration::from_secs(3600));
    /// assert_eq!(hours.tick_timeout(Duration::from_millis(1)), None);
    /// ```
    pub fn tick_timeout(&mut self, timeout: Duration) -> Option<Instant> {
        self.tick_limited(Limit::after(timeout))
    }

    /// Like [`tick`](Self::tick), but gives up when the [`Limit`] comes; the tick is then still to
    /// come. One that is due is returned in any case, except that within [`Limit::Cancellation`] a
    /// fibre that has been cancelled gets none.
    ///
    /// ```
    /// use fibre::{Interval, Limit, WaitError};
    /// use std::time::Duration;
    ///
    /// let mut hours = Interval::new(Duration::from_secs(3600));
    /// let soon = hours.tick_within(Duration::from_millis(1));
    /// assert_eq!(soon, Err(WaitError::TimedOut));
    /// let fibre = fibre::spawn(move || hours.tick_within(Limit::Cancellation));
    /// fibre.cancel();
    /// assert!(fibre.join().unwrap().is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// [`WaitError`].
    pub fn tick_within(&mut self, limit: impl Into<Limit>) -> Result<Instant, WaitError> {
        within(limit, |limit| self.tick_limited(limit))
    }

    /// The part of [`tick_within`](Self::tick_within) that is there once.
    fn tick_limited(&mut self, limit: Limit) -> Option<Instant> {
        let due = |next: &Instant| Instant::now() >= *next;
        if !self.next.as_ref().is_some_and(due) {
            let limit = match (limit, self.next) {
                (Limit::None, _) => return Some(self.tick()),
                (Limit::Deadline(end), Some(next)) => Limit::Deadline(end.min(next)),
                (Limit::Wall(moment), Some(next)) if !moment.is_before(next) => {
                    Limit::Deadline(next)
                }
                (Limit::Cancellation, next) => Limit::of(next),
                (limit, _) => limit,
            };
            let _ = doze(limit);
        }
        self.take_due()
    }

    /// Takes the next tick, if it is due.
    fn take_due(&mut self) -> Option<Instant> {
        let next = self.next.filter(|&next| Instant::now() >= next)?;
        self.next = next.checked_add(self.period);
        Some(next)
    }

    /// Forgets overdue ticks, and returns how many there were. The next one is due when it would
    /// have been anyway.
    pub fn skip_missed(&mut self) -> u64 {
        let Some(next) = self.next else { return 0 };
        let now = Instant::now();
        if now < next {
            return 0;
        }
        let late = now.duration_since(next).as_nanos();
        let missed = late / self.period.as_nanos() + 1;
        let whole = u64::try_from(missed * self.period.as_nanos());
        self.next = whole
            .ok()
            .and_then(|whole| next.checked_add(Duration::from_nanos(whole)));
        u64::try_from(missed).unwrap_or(u64::MAX)
    }
}

/// An arm of `select!` for an interval's next tick; made by [`Interval::tick_arm`].
#[derive(Debug)]
#[must_use = "an arm waits in a selection only"]
pub struct TickArm<'a> {
    /// The interval, which moves on when the arm is chosen.
    interval: &'a mut Interval,
}

impl Interval {
    /// [`tick`](Self::tick) as an arm of `select!`. A tick that another arm keeps from being
    /// noticed stays due.
    ///
    /// ```
    /// use fibre::{Interval, channel::unbounded, select};
    /// use std::time::Duration;
    ///
    /// let (_sender, receiver) = unbounded::<u32>();
    /// let mut interval = Interval::new(Duration::from_millis(1));
    /// for _ in 0..3 {
    ///     select! {
    ///         recv(receiver) -> _ => unreachable!("nobody sends"),
    ///         due = interval.tick_arm() => println!("a tick was due at {due:?}"),
    ///     }
    /// }
    /// ```
    pub fn tick_arm(&mut self) -> TickArm<'_> {
        TickArm { interval: self }
    }
}

impl Arm for TickArm<'_> {
    type Output = Instant;

    fn attempt(&mut self) -> Option<Instant> {
        self.interval.take_due()
    }

    fn due(&self) -> Option<Instant> {
        self.interval.next
    }

    unsafe fn enter(&self, _: &Waiter) -> Entered {
        Entered::Waits
    }

    unsafe fn leave(&self, _: &Waiter) -> Left {
        Left::Elsewhere
    }
}
