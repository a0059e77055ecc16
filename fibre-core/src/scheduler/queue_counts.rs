//! The count request: a reader asks all processors of a cluster what is queued.
//!
//! The reader raises the number of the [`CountRequest`]. A processor that finds a number there
//! which it has not answered, at a service or before a sleep, counts what is queued and answers:
//! first what it has counted, then the number. Several readers may ask at the same time, and an
//! answer to a later number answers the earlier ones. No side waits for the other for longer than
//! it likes.
//!
//! # Memory ordering
//!
//! The number in the answer is stored with release, after the count, and loaded with acquire. So a
//! reader that sees its number, or a later one, sees a count made after it had asked. The count
//! request's own number orders nothing: a processor that misses it finds it at its next service.

use crate::sync::{AtomicU64, Ordering, planted};

/// The most fibres of a queue that are counted: it keeps the processor.
pub const MOST_QUEUED: usize = 1 << 16;

/// A value of [`QueueCount::queued`]: it could not be counted.
const UNKNOWN: u64 = u64::MAX;

/// What is queued at the processors of one domain, for readers.
#[derive(Debug)]
pub struct QueueCounts {
    /// Asks the processors.
    pub request: CountRequest,
    /// What they have answered. Written when somebody asks, so they may share cache lines.
    pub counts: Box<[QueueCount]>,
}

impl QueueCounts {
    /// Nobody has asked any of so many processors.
    #[must_use]
    pub fn new(processors: usize) -> Self {
        Self {
            request: CountRequest::new(),
            counts: (0..processors).map(|_| QueueCount::new()).collect(),
        }
    }
}

/// The number of the last time that a reader has asked.
#[derive(Debug)]
pub struct CountRequest(AtomicU64);

#[allow(clippy::new_without_default, reason = "one per domain")]
impl CountRequest {
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
pub struct QueueCount {
    /// What was queued.
    queued: AtomicU64,
    /// The number that this answers.
    number: AtomicU64,
}

impl Default for QueueCount {
    fn default() -> Self {
        Self::new()
    }
}

impl QueueCount {
    /// The answer of a processor that has not been asked.
    #[must_use]
    pub fn new() -> Self {
        Self {
            queued: AtomicU64::new(0),
            number: AtomicU64::new(0),
        }
    }

    /// Answers a count request, unless that has been done. The processor only, between two fibres;
    /// `count` returns what is queued, if that can be told.
    #[inline]
    pub fn give(&self, count_request: &CountRequest, count: impl FnOnce() -> Option<usize>) {
        let number = count_request.0.load(Ordering::Relaxed);
        if number == self.number.load(Ordering::Relaxed) {
            return;
        }
        if planted("queue_counts: the number is given before the count") {
            self.number.store(number, Ordering::Release);
        }
        let queued = count().map_or(UNKNOWN, |queued| queued as u64);
        self.queued.store(queued, Ordering::Relaxed);
        self.number.store(number, Ordering::Release);
    }

    /// What was queued, if the processor has answered a count request of this number or a later
    /// one. The inner `None`: it could not tell. Any thread.
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
        let (answer, count_request) = (QueueCount::new(), CountRequest::new());
        answer.give(&count_request, || unreachable!("nobody has asked"));
        let number = count_request.begin();
        assert_eq!(answer.to(number), None);
        answer.give(&count_request, || Some(3));
        answer.give(&count_request, || unreachable!("it has been answered"));
        assert_eq!(answer.to(number), Some(Some(3)));
        let second = count_request.begin();
        assert_eq!(answer.to(second), None);
        answer.give(&count_request, || None);
        assert_eq!(answer.to(second), Some(None));
        assert!(answer.to(number).is_some(), "a later answer will do");
    }
}
