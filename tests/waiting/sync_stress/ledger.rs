//! The account of values: each is received once, or comes back to the one who made it.

use crate::support::Drops;
use crate::support::drops::Counted;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// A value that can be told from all others.
#[derive(Debug)]
pub struct Value {
    pub number: usize,
    _counted: Counted,
}

/// See the module text.
#[derive(Debug)]
pub struct Ledger {
    /// How many were made.
    made: AtomicUsize,
    /// What has become of each.
    ends: Vec<AtomicU8>,
    drops: Drops,
}

/// What has become of a value.
const UNDER_WAY: u8 = 0;
const RECEIVED: u8 = 1;
const CAME_BACK: u8 = 2;

impl Ledger {
    /// An account of so many values at most.
    pub fn new(most: usize) -> Self {
        Self {
            made: AtomicUsize::new(0),
            ends: (0..most).map(|_| AtomicU8::new(UNDER_WAY)).collect(),
            drops: Drops::new(),
        }
    }

    /// Makes a value.
    pub fn value(&self) -> Value {
        Value {
            number: self.made.fetch_add(1, Ordering::Relaxed),
            _counted: self.drops.value(),
        }
    }

    /// Enters how a value has ended, which happens once.
    fn end(&self, value: Value, end: u8) {
        let before = self.ends[value.number].swap(end, Ordering::Relaxed);
        assert_eq!(before, UNDER_WAY, "value {} has ended twice", value.number);
    }

    /// A value has arrived.
    pub fn received(&self, value: Value) {
        self.end(value, RECEIVED);
    }

    /// The value of this number has not been sent.
    pub fn came_back(&self, number: usize, value: Value) {
        assert_eq!(value.number, number, "another one came back");
        self.end(value, CAME_BACK);
    }

    /// Panics unless all values have ended; returns how many were received.
    pub fn close(&self) -> usize {
        let made = self.made.load(Ordering::Relaxed);
        let ends = self.ends[..made].iter();
        let mut counts = [0; 3];
        ends.for_each(|end| counts[usize::from(end.load(Ordering::Relaxed))] += 1);
        assert_eq!(counts[usize::from(UNDER_WAY)], 0, "values were lost");
        assert_eq!(self.drops.count(), made);
        counts[usize::from(RECEIVED)]
    }
}
