//! Limits how often a spare processor is called.
//!
//! The fibre that keeps the regular processor may spawn others all the time. Say each spawn called
//! the spare processor, which has run the fibre before the next one comes: the two threads would
//! switch for each fibre, and on one CPU that takes longer than the fibre itself. So a spare
//! processor is called [`MOST`] times in a [`WINDOW`]. For the remainder of the window the
//! processor sleeps outside of the idle set, and comes at its end, when there is more to do at a
//! time.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// How long calls are counted. No fibre waits longer for a processor that is not called.
const WINDOW: Duration = Duration::from_millis(1);

/// The most calls in that time: they take less than a twentieth of it.
const MOST: u32 = 6;

/// How often a spare processor has been called for what others have pushed.
#[derive(Debug)]
pub(super) struct Calls {
    /// When they were first counted.
    since: Cell<Instant>,
    /// How many have come since.
    count: Cell<u32>,
}

impl Calls {
    /// No calls since then.
    pub(super) fn new(since: Instant) -> Self {
        Self {
            since: Cell::new(since),
            count: Cell::new(0),
        }
    }

    /// Counts a call.
    pub(super) fn add(&self) {
        self.count.set(self.count.get().saturating_add(1));
    }

    /// Until when the processor is not to be called; `None` if it may be.
    pub(super) fn barred_until(&self, now: Instant) -> Option<Instant> {
        let end = self.since.get() + WINDOW;
        if now >= end {
            self.since.set(now);
            self.count.set(0);
        }
        (self.count.get() >= MOST).then_some(end)
    }
}

/// The threads that may end a processor's sleep for work that others have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    /// Any thread that has such work: the processor is in the idle set.
    Anybody,
    /// The same, but for a spare processor: its calls are counted.
    Counted,
    /// None before this time: the processor has been called too often.
    NobodyUntil(Instant),
    /// None: the processor stands aside.
    Nobody,
}

impl Call {
    /// Whether any thread may end the sleep.
    pub(super) fn is_open(self) -> bool {
        matches!(self, Self::Anybody | Self::Counted)
    }

    /// When the sleep has to end by itself.
    pub(super) fn deadline(self) -> Option<Instant> {
        match self {
            Self::NobodyUntil(end) => Some(end),
            Self::Anybody | Self::Counted | Self::Nobody => None,
        }
    }
}

#[cfg(all(test, not(loom)))]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn no_more_calls_come_in_a_window_than_may() {
        let begin = Instant::now();
        let calls = Calls::new(begin);
        for window in 0..3 {
            let begin = begin + window * WINDOW;
            for _ in 0..MOST {
                assert_eq!(calls.barred_until(begin), None);
                calls.add();
            }
            let end = begin + WINDOW;
            for now in [begin, end - Duration::from_nanos(1)] {
                assert_eq!(calls.barred_until(now), Some(end));
            }
        }
    }

    /// What is counted in a window that has ended counts no more.
    #[test]
    fn calls_that_are_far_apart_are_never_barred() {
        let calls = Calls::new(Instant::now());
        for call in 0..4 * MOST {
            let now = calls.since.get() + WINDOW * (call % 2);
            assert_eq!(calls.barred_until(now), None);
            (0..MOST / 2).for_each(|_| calls.add());
        }
    }
}
