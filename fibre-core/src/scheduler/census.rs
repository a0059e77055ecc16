//! The census: a reader asks all processors of a cluster what is queued.
//!
//! The reader raises the number of the [`Census`]. A processor that finds a number there which it
//! has not answered, at a service or before a sleep, counts what is queued and answers: first what
//! it has counted, then the number. Several readers may ask at the same time, and an answer to a
//! later number answers the earlier ones. No side waits for the other for longer than it likes.
//!
//! # Memory ordering
//!
//! The number in the answer is stored with release, after the count, and loaded with acquire. So a
//! reader that sees its number, or a later one, sees a count made after it had asked. The census'
//! own number orders nothing: a processor that misses it finds it at its next service.

use crate::sync::{AtomicU64, Ordering, planted};

/// The most fibres of a queue that are counted: it keeps the processor.
pub const MOST_QUEUED: usize = 1 << 16;

/// A value of [`Answer::queued`]: it could not be counted.
const UNKNOWN: u64 = u64::MAX;

/// The number of the last time that a reader has asked.
#[derive(Debug)]
pub struct Census(AtomicU64);

#[allow(clippy::new_without_default, reason = "one per domain")]
impl Census {
    /// No reader has asked.
    #[must_use]
    pub fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Asks all processors; returns the number that they answer. Any thread.
    pub fn begin(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// What one processor has answered.
#[derive(Debug)]
pub struct Answer {
    /// What was queued.
    queued: AtomicU64,
    /// The number that this answers.
    number: AtomicU64,
}

impl Default for Answer {
    fn default() -> Self {
        Self::new()
    }
}

impl Answer {
    /// The answer of a processor that has not been asked.
    #[must_use]
    pub fn new() -> Self {
        Self {
            queued: AtomicU64::new(0),
            number: AtomicU64::new(0),
        }
    }

    /// Answers a census, unless that has been done. The processor only, between two fibres; `count`
    /// returns what is queued, if that can be told.
    #[inline]
    pub fn give(&self, census: &Census, count: impl FnOnce() -> Option<usize>) {
        let number = census.0.load(Ordering::Relaxed);
        if number == self.number.load(Ordering::Relaxed) {
            return;
        }
        if planted("census: the number is given before the count") {
            self.number.store(number, Ordering::Release);
        }
        let queued = count().map_or(UNKNOWN, |queued| queued as u64);
        self.queued.store(queued, Ordering::Relaxed);
        self.number.store(number, Ordering::Release);
    }

    /// What was queued, if the processor has answered a census of this number or a later one. The
    /// inner `None`: it could not tell. Any thread.
    pub fn to(&self, number: u64) -> Option<Option<u64>> {
        (self.number.load(Ordering::Acquire) >= number).then(|| {
            let queued = self.queued.load(Ordering::Relaxed);
            Some(queued).filter(|queued| *queued != UNKNOWN)
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_census_is_answered_once() {
        let (answer, census) = (Answer::new(), Census::new());
        answer.give(&census, || unreachable!("nobody has asked"));
        let number = census.begin();
        assert_eq!(answer.to(number), None);
        answer.give(&census, || Some(3));
        answer.give(&census, || unreachable!("it has been answered"));
        assert_eq!(answer.to(number), Some(Some(3)));
        let second = census.begin();
        assert_eq!(answer.to(second), None);
        answer.give(&census, || None);
        assert_eq!(answer.to(second), Some(None));
        assert!(answer.to(number).is_some(), "a later answer will do");
    }
}
