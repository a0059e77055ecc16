//! How long the fibre of a processor has had a lock that it waited for.
//!
//! Each processor notes the lock that was last waited for on it, and since when its fibre has had
//! it. These are hints: a fibre that waits for another lock, or another fibre's wait, replaces
//! them.

use std::cell::Cell;
use std::ptr;
use std::time::{Duration, Instant};

/// How long fibres may hand a processor on to each other before those in its queue run.
const LONGEST_ROW: Duration = Duration::from_millis(1);

/// A fibre's turn with a lock.
#[derive(Debug, Clone, Copy)]
pub struct Turn {
    /// The lock, by its address.
    lock: *const (),
    /// When the fibre got it.
    since: Instant,
    /// When the first of a row was handed the processor, of which this turn is one.
    row: Option<Instant>,
}

impl Turn {
    /// How long it has lasted.
    #[must_use]
    pub fn length(&self) -> Duration {
        self.since.elapsed()
    }

    /// Whether the processor may be handed on: it has not been for long.
    #[must_use]
    pub fn may_hand_on(&self) -> bool {
        self.row.is_none_or(|row| row.elapsed() < LONGEST_ROW)
    }
}

/// What a processor notes.
#[derive(Debug, Default)]
pub(crate) struct LockTurn {
    /// The turn that was begun last.
    last: Cell<Option<Turn>>,
    /// When the first of the row was handed the processor that the next turn is of.
    row: Cell<Option<Instant>>,
}

impl LockTurn {
    /// Notes that the running fibre has just got this lock.
    pub(crate) fn begin<T>(&self, lock: &T) {
        self.last.set(Some(Turn {
            lock: ptr::from_ref(lock).cast(),
            since: Instant::now(),
            row: self.row.take(),
        }));
    }

    /// The turn with this lock, which ends, if it is known.
    pub(crate) fn end<T>(&self, lock: &T) -> Option<Turn> {
        let its = |turn: &Turn| ptr::eq(turn.lock, ptr::from_ref(lock).cast());
        self.last.take().filter(its)
    }

    /// Notes that the processor is handed on after `turn`.
    pub(crate) fn hand_on(&self, turn: Option<Turn>) {
        let row = turn.and_then(|turn| turn.row);
        self.row.set(Some(row.unwrap_or_else(Instant::now)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_turn_is_known_once_and_by_its_lock() {
        let (noted, lock, other) = (LockTurn::default(), 1_u64, 2_u64);
        assert!(noted.end(&lock).is_none());
        noted.begin(&lock);
        thread::sleep(Duration::from_millis(2));
        let turn = noted.end(&lock);
        assert!(turn.is_some_and(|turn| turn.length() >= Duration::from_millis(2)));
        assert!(noted.end(&lock).is_none(), "it has ended");
        noted.begin(&lock);
        assert!(noted.end(&other).is_none());
        assert!(noted.end(&lock).is_none(), "it is too late for it");
    }

    #[test]
    fn a_row_ends_after_a_while() {
        let (noted, lock) = (LockTurn::default(), 1_u64);
        noted.begin(&lock);
        let first = noted.end(&lock);
        thread::sleep(LONGEST_ROW);
        assert!(
            first.is_some_and(|first| first.may_hand_on()),
            "it is in no row"
        );
        noted.hand_on(first);
        noted.begin(&lock);
        thread::sleep(LONGEST_ROW);
        let second = noted.end(&lock);
        assert!(second.is_some_and(|second| !second.may_hand_on()));
        noted.begin(&lock);
        let third = noted.end(&lock);
        assert!(
            third.is_some_and(|third| third.may_hand_on()),
            "the row has ended"
        );
    }
}
