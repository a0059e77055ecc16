//! How long a raw call waits.
//!
//! C gives deadlines as seconds and nanoseconds of a clock. Deadlines on the monotonic clock are
//! converted to `Instant`s when the call begins. Deadlines in real time stay as they are: a wait
//! follows the clock when that is set ([`WallTime`]).

use crate::raw::error::{Error, Result};
use fibre_core::internal::{
    lower_shield, raise_shield, waits_may_unwind, yield_point, yield_point_cancellable,
};
use fibre_core::{Limit, WallTime, cancellation_point, is_cancelled, sleep, yield_now};
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// How often a destruction yields to leaving waiters before it sleeps.
const YIELDS: u32 = 32;

/// Nanoseconds in a second.
const SECOND: i64 = 1_000_000_000;

/// The clock that a deadline is told by.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Clock {
    /// `CLOCK_REALTIME`.
    #[default]
    Realtime = 0,
    /// `CLOCK_MONOTONIC`.
    Monotonic = 1,
}

/// Until when a call waits at most, and whether it notices that its fibre is cancelled.
///
/// ```
/// use std::time::{Duration, Instant};
/// use fibre::sync::raw::{Error, Semaphore, Wait};
///
/// let permits = Semaphore::new(1)?;
/// permits.wait(Wait::FOREVER)?;
/// let soon = Wait::until(Instant::now() + Duration::from_millis(1));
/// assert_eq!(permits.wait(soon), Err(Error::TimedOut));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// When it ends at the latest: none, or a moment.
    end: Limit,
    /// Whether it notices that its fibre is cancelled.
    cancellable: bool,
}

impl Wait {
    /// A wait without a deadline; cancellation is not noticed.
    pub const FOREVER: Self = Self {
        end: Limit::None,
        cancellable: false,
    };

    /// Until this moment; cancellation is not noticed. If it has passed, the call tries once.
    #[must_use]
    pub const fn until(deadline: Instant) -> Self {
        Self {
            end: Limit::Deadline(deadline),
            cancellable: false,
        }
    }

    /// Until a clock shows this time; cancellation is not noticed. If the time has passed, the call
    /// tries once. A time that the clock will never show is no deadline.
    ///
    /// ```
    /// use fibre::sync::raw::{Clock, Error, Wait};
    ///
    /// assert!(Wait::at(Clock::Monotonic, -1, 0).is_ok());
    /// assert!(Wait::at(Clock::Realtime, i64::MAX, 0).is_ok());
    /// assert_eq!(Wait::at(Clock::Realtime, 0, 1_000_000_000), Err(Error::Invalid));
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if there are not 0 to 999 999 999 nanoseconds.
    pub fn at(clock: Clock, seconds: i64, nanoseconds: i64) -> Result<Self> {
        if !(0..SECOND).contains(&nanoseconds) {
            return Err(Error::Invalid);
        }
        let end = match clock {
            Clock::Monotonic => {
                let now = clock_gettime(ClockId::Monotonic);
                let left = distance((now.tv_sec, now.tv_nsec), (seconds, nanoseconds));
                Instant::now().checked_add(left).map(Limit::Deadline)
            }
            // There are fewer than a second's.
            Clock::Realtime => WallTime::new(seconds, nanoseconds as u32).map(Limit::Wall),
        };
        Ok(Self {
            end: end.unwrap_or(Limit::None),
            cancellable: false,
        })
    }

    /// The same, but it also ends when the fibre is cancelled, as in a cancellation point.
    #[must_use]
    pub const fn cancellable(self) -> Self {
        Self {
            cancellable: true,
            ..self
        }
    }

    /// What ends it besides a waker: its deadline, if it has one, and cancellation, if it notices
    /// that.
    #[must_use]
    pub const fn limit(self) -> Limit {
        match self.end {
            Limit::None if self.cancellable => Limit::Cancellation,
            end => end,
        }
    }

    /// What a call begins with that then tries once before it waits: lets others run from time to
    /// time, and notices cancellation, if it is to.
    #[inline]
    pub(crate) fn begin(self) -> Result {
        if self.cancellable {
            return yield_point_cancellable().map_err(|_| Error::Cancelled);
        }
        yield_point();
        Ok(())
    }

    /// Makes a call that waits until a limit, says whether it succeeded, and does not panic. What
    /// leaves the stack in it is inlined into the caller, as there is one call.
    #[inline(always)]
    pub(crate) fn run(self, call: impl FnOnce(Limit) -> bool) -> Result {
        if self.cancellable {
            cancellation_point().map_err(|_| Error::Cancelled)?;
        }
        let limit = self.limit();
        // Only a wait with a limit notices cancellation, unless a time-out around the call would
        // have it unwind, perhaps through functions of C.
        let shielded = !self.cancellable && (limit != Limit::None || waits_may_unwind());
        if shielded {
            raise_shield();
        }
        let done = call(limit);
        if shielded {
            lower_shield();
        }
        match done {
            true => Ok(()),
            false => self.failure(),
        }
    }

    /// What a call fails with, if it can.
    #[cold]
    fn failure(self) -> Result {
        match self.cancellable && is_cancelled() {
            true => Err(Error::Cancelled),
            // Without a limit it cannot fail.
            false if self == Self::FOREVER => Ok(()),
            false => Err(Error::TimedOut),
        }
    }
}

/// Waits for callers that are about to leave an object that is to be destroyed, until `gone`
/// returns `true` or fails. Blocks the fibre, or the thread if the caller is not a fibre.
pub(crate) fn until(gone: impl Fn() -> Result<bool>) -> Result {
    let mut yields = 0;
    while !gone()? {
        if yields < YIELDS {
            yields += 1;
            yield_now();
        } else {
            sleep(Duration::from_micros(50));
        }
    }
    Ok(())
}

/// The time between two times of a clock, zero if the second one is earlier. Each has less than a
/// second's nanoseconds.
fn distance(now: (i64, i64), then: (i64, i64)) -> Duration {
    let nanoseconds =
        |time: (i64, i64)| i128::from(time.0) * i128::from(SECOND) + i128::from(time.1);
    let left = (nanoseconds(then) - nanoseconds(now)).max(0).unsigned_abs();
    let second = u128::from(SECOND.unsigned_abs());
    // At most the span of an `i64` of seconds, which fits.
    let seconds = u64::try_from(left / second).unwrap_or(u64::MAX);
    Duration::new(seconds, (left % second) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that follow from a seed, the ends of their range among them.
    fn numbers() -> impl Iterator<Item = i64> {
        let mut random = fastrand::Rng::with_seed(1);
        let mut count = 0;
        std::iter::from_fn(move || {
            let state = random.u64(..);
            count += 1;
            Some(match count % 7 {
                0 => i64::MAX,
                1 => i64::MIN,
                2 => (state % 5) as i64 - 2,
                3 => (state >> 1) as i64,
                _ => state as i64 >> (state % 60),
            })
        })
    }

    /// A distance is what has to be added to get there, whatever the times are.
    #[test]
    fn distances_add_up() {
        let mut numbers = numbers();
        let mut next = || numbers.next().unwrap_or_default();
        for _ in 0..100_000 {
            let (now, then) = (next(), next());
            let (start, end) = (next().rem_euclid(SECOND), next().rem_euclid(SECOND));
            let left = distance((now, start), (then, end));
            let expected =
                (i128::from(then) - i128::from(now)) * i128::from(SECOND) + i128::from(end - start);
            assert_eq!(left.as_nanos(), expected.max(0).unsigned_abs());
        }
    }

    /// Nanoseconds are those of one second, whatever else is said.
    #[test]
    fn nanoseconds_are_checked() {
        for (seconds, nanoseconds) in numbers().zip(numbers().skip(1)).take(10_000) {
            let valid = (0..1_000_000_000).contains(&nanoseconds);
            for clock in [Clock::Monotonic, Clock::Realtime] {
                assert_eq!(Wait::at(clock, seconds, nanoseconds).is_ok(), valid);
            }
        }
        for nanoseconds in [-1, 1_000_000_000, i64::MIN, i64::MAX] {
            assert_eq!(
                Wait::at(Clock::Realtime, 0, nanoseconds),
                Err(Error::Invalid)
            );
        }
    }
}
