//! How long the fibre of a processor has had a lock that it waited for.
//!
//! Each processor notes the lock that was last waited for on it, and since when its fibre has had
//! it. These are hints: a fibre that waits for another lock, or another fibre's wait, replaces
//! them.

use std::cell::Cell;
use std::ptr;
use std::time::{Duration, Instant};

/// How long fibres may hand a processor on to each other before those in its queue run.
const MAX_ROW: Duration = Duration::from_micros(250);

/// Of how many turns that may be short one is measured.
const MEASURED: u8 = 8;

/// A turn with a lock that has ended.
#[derive(Debug, Clone, Copy)]
pub struct Turn {
    /// How long it has lasted.
    length: Duration,
    /// When it ended.
    end: Instant,
    /// When the first turn of this row was handed the processor.
    row: Option<Instant>,
}

impl Turn {
    /// How long it has lasted.
    #[must_use]
    pub fn length(&self) -> Duration {
        self.length
    }

    /// Whether the processor may be handed on: it has not been for long.
    #[must_use]
    pub fn may_hand_on(&self) -> bool {
        self.row.is_none_or(|row| self.end - row < MAX_ROW)
    }
}

/// A turn that has begun.
#[derive(Debug, Clone, Copy)]
struct Begun {
    /// The lock, by its address.
    lock: *const (),
    /// When the fibre got it.
    since: Instant,
    /// See [`Turn`].
    row: Option<Instant>,
}

/// What a processor notes.
#[derive(Debug, Default)]
pub(crate) struct LockTurn {
    /// The turn that was begun last, if it is measured.
    last: Cell<Option<Begun>>,
    /// When the first of the row was handed the processor that the next turn is of.
    row: Cell<Option<Instant>>,
    /// How many turns have not been measured since one was.
    skipped: Cell<u8>,
}

impl LockTurn {
    /// Notes that the running fibre has just got this lock, and whether its turns are known to be
    /// `long`. Of those that are not, some are left out: two looks at the clock take as long as a
    /// short turn.
    pub(crate) fn begin<T>(&self, lock: &T, long: bool) {
        let skipped = self.skipped.get();
        if !long && skipped + 1 < MEASURED {
            self.skipped.set(skipped + 1);
            return self.last.set(None);
        }
        self.skipped.set(0);
        self.last.set(Some(Begun {
            lock: ptr::from_ref(lock).cast(),
            since: Instant::now(),
            row: self.row.take(),
        }));
    }

    /// The turn with this lock, which ends, if it was measured.
    pub(crate) fn end<T>(&self, lock: &T) -> Option<Turn> {
        let its = |begun: &Begun| ptr::eq(begun.lock, ptr::from_ref(lock).cast());
        self.last.take().filter(its).map(|begun| {
            let end = Instant::now();
            Turn {
                length: end - begun.since,
                end,
                row: begun.row,
            }
        })
    }

    /// Notes that the processor is handed on after `turn`.
    pub(crate) fn hand_on(&self, turn: Turn) {
        self.row.set(Some(turn.row.unwrap_or(turn.end)));
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
        noted.begin(&lock, true);
        thread::sleep(Duration::from_millis(2));
        let turn = noted.end(&lock);
        assert!(turn.is_some_and(|turn| turn.length() >= Duration::from_millis(2)));
        assert!(noted.end(&lock).is_none(), "it has ended");
        noted.begin(&lock, true);
        assert!(noted.end(&other).is_none());
        assert!(noted.end(&lock).is_none(), "it is too late for it");
    }

    #[test]
    fn of_short_turns_some_are_measured() {
        let (noted, lock) = (LockTurn::default(), 1_u64);
        let measured = (0..10 * MEASURED).filter(|_| {
            noted.begin(&lock, false);
            noted.end(&lock).is_some()
        });
        assert_eq!(measured.count(), 10);
    }

    #[test]
    fn a_row_ends_after_a_while() {
        let (noted, lock) = (LockTurn::default(), 1_u64);
        let turn = |begins_row: bool| {
            noted.begin(&lock, true);
            thread::sleep(MAX_ROW);
            let turn = noted.end(&lock);
            turn.filter(|_| begins_row)
                .into_iter()
                .for_each(|turn| noted.hand_on(turn));
            turn.map(|turn| turn.may_hand_on())
        };
        assert_eq!(turn(true), Some(true), "it is in no row");
        assert_eq!(turn(false), Some(false), "the row has lasted for long");
        assert_eq!(turn(false), Some(true), "it has ended");
    }
}
