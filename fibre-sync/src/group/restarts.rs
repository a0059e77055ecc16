//! Running what fails again, so often and no oftener.

use fibre_core::internal::{ShortLock, caller_is_cancelled};
use fibre_core::{Cancelled, is_cancelled, sleep_within};
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// How often what fails is run again: at most so often within a time, with pauses that grow. A
/// failure beyond that is handed on. It is Erlang's strategy *one for one*: with
/// [`Group::spawn`](crate::Group::spawn), the last failure then ends the whole group; with
/// [`Supervisor::spawn`](crate::Supervisor::spawn), it is one of the results.
///
/// Fibres that use the same value share its limit; each has pauses of its own.
///
/// ```
/// use fibre::{GroupError, Restarts};
/// use std::cell::Cell;
/// use std::time::Duration;
///
/// let restarts = Restarts::new(3, Duration::from_secs(10))
///     .backoff(Duration::from_millis(1), Duration::from_secs(1));
/// let served: Result<u32, GroupError<&str>> = fibre::group(|group| {
///     group.spawn(|| {
///         let tries = Cell::new(0);
///         restarts.run(|| {
///             tries.set(tries.get() + 1);
///             match tries.get() {
///                 1 => Err("the connection was reset"),
///                 2 => panic!("a bug, on purpose"),
///                 tries => Ok(tries),
///             }
///         })
///     });
///     group.next().ok_or("no result")
/// });
/// assert_eq!(served, Ok(3));
/// ```
pub struct Restarts {
    /// The most restarts within the time.
    most: usize,
    /// The time.
    window: Duration,
    /// The first pause.
    first: Duration,
    /// The longest pause.
    longest: Duration,
    /// The moments of the restarts within the time, the earliest first.
    recent: ShortLock<VecDeque<Instant>>,
}

impl fmt::Debug for Restarts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Restarts")
            .field("most", &self.most)
            .field("window", &self.window)
            .field("first", &self.first)
            .field("longest", &self.longest)
            .finish_non_exhaustive()
    }
}

impl Restarts {
    /// At most `most` restarts within any time of this length; `usize::MAX` is no limit, and so is
    /// any number within no time. The first run does not count. A restart counts from the failure
    /// on: with pauses of several fibres that share the limit, the runs themselves may begin closer
    /// together.
    #[must_use]
    pub fn new(most: usize, window: Duration) -> Self {
        Self {
            most,
            window,
            first: Duration::ZERO,
            longest: Duration::ZERO,
            recent: ShortLock::new(VecDeque::new()),
        }
    }

    /// The pause before the first restart, which doubles with each one, up to the longest. It
    /// begins again with the first after a run that has lasted for longer than the time of
    /// [`new`](Self::new), so give that a length also without a limit. Default: no pause; other
    /// fibres run in between.
    #[must_use]
    pub fn backoff(mut self, first: Duration, longest: Duration) -> Self {
        self.first = first;
        self.longest = longest.max(first);
        self
    }

    /// Calls `f`, and again if it returns an error or panics, as often as it may be. In between,
    /// the fibre (or thread) sleeps. It is the same fibre: fibre-locals stay as they are, and so
    /// does what `f` has changed.
    ///
    /// A fibre that has been cancelled, or has no time left, does not restart: also not out of a
    /// pause. So a group that ends waits for none of its pauses. A panic before such a pause has
    /// been dealt with: the call is then unwound without a word, as by
    /// [`cancellable`](fibre_core::cancellable), and that is no failure of the fibre.
    ///
    /// # Errors
    ///
    /// The error of the last run.
    ///
    /// # Panics
    ///
    /// With the panic of the last run. Earlier ones have been reported by the panic hook.
    pub fn run<T, E>(&self, mut f: impl FnMut() -> Result<T, E>) -> Result<T, E> {
        let mut pause = self.first;
        loop {
            let begun = Instant::now();
            let failure = match catch_unwind(AssertUnwindSafe(&mut f)) {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(error)) => Ok(error),
                Err(payload) => Err(payload),
            };
            let ends = failure
                .as_ref()
                .is_err_and(|payload| payload.is::<Cancelled>());
            let was_cancelled = caller_is_cancelled();
            if ends || !self.begin_again(begun.elapsed(), &mut pause) {
                let end = |payload| match !was_cancelled && caller_is_cancelled() {
                    true => resume_unwind(Box::new(Cancelled)),
                    false => resume_unwind(payload),
                };
                return failure.map_or_else(end, Err);
            }
        }
    }

    /// Waits for the next run, after one that has lasted so long; `pause` is the length of the
    /// pause, or zero at first. `false`: there is no next run.
    #[doc(hidden)]
    pub fn begin_again(&self, lasted: Duration, pause: &mut Duration) -> bool {
        if is_cancelled() || !self.admit(Instant::now()) {
            return false;
        }
        if lasted > self.window {
            *pause = self.first;
        }
        *pause = (*pause).max(self.first);
        let slept = sleep_within(*pause);
        *pause = pause.saturating_mul(2).min(self.longest);
        slept.is_ok() && !is_cancelled()
    }

    /// Counts a restart, if it may be.
    fn admit(&self, now: Instant) -> bool {
        if self.most == usize::MAX {
            return true;
        }
        let mut recent = self.recent.lock();
        let is_old = |&moment: &Instant| now.saturating_duration_since(moment) >= self.window;
        while recent.front().is_some_and(is_old) {
            recent.pop_front();
        }
        let admits = recent.len() < self.most;
        if admits {
            recent.push_back(now);
        }
        admits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_of_the_window_has_more_restarts() {
        let (second, begun) = (Duration::from_secs(1), Instant::now());
        let restarts = Restarts::new(2, 10 * second);
        let admitted: Vec<_> = (0..25)
            .filter(|&after| restarts.admit(begun + after * second))
            .collect();
        assert_eq!(admitted, [0, 1, 10, 11, 20, 21]);
        assert!(!Restarts::new(0, second).admit(begun));
        assert!((0..9).all(|_| Restarts::new(usize::MAX, second).admit(begun)));
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_again() {
        let micros = Duration::from_micros;
        let restarts = Restarts::new(9, Duration::from_secs(1)).backoff(micros(1), micros(3));
        let mut pause = Duration::ZERO;
        for expected in [2, 3, 3] {
            assert!(restarts.begin_again(Duration::ZERO, &mut pause));
            assert_eq!(pause, micros(expected));
        }
        assert!(restarts.begin_again(Duration::from_secs(2), &mut pause));
        assert_eq!(pause, micros(2));
    }
}
