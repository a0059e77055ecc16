//! How many processors watch the others.
//!
//! If processors poll for their own events, a fibre that keeps one of them also delays the events
//! of other fibres. So an idle processor checks now and then whether the others still poll
//! (`processor/watch.rs`). It stops when no processor has done anything for a while, so that a
//! cluster without work sleeps; then a processor that becomes busy wakes a watcher.
//!
//! The two must not miss each other: either the stopping watcher sees that another processor is
//! busy, or that processor sees that nobody watches. So each first announces its new state, and
//! looks then.
//!
//! If the monitor calls for a watcher, a processor looks only after a long sleep; the monitor's
//! next look catches what that misses.
//!
//! # Memory ordering
//!
//! Becoming busy is a plain store, followed by a read-modify-write of this word. The watcher that
//! stops changes this word and then reads that store. The read-modify-writes have one order: the
//! second one sees the first, and what came before it.

use crate::sync::{AtomicUsize, Ordering};

/// The number of watchers.
#[derive(Debug)]
pub struct Watch(AtomicUsize);

impl Watch {
    /// A count of no watchers.
    #[must_use]
    #[allow(
        clippy::new_without_default,
        reason = "one per cluster, never a default"
    )]
    pub fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// Adds a watcher, for the time of its sleep. Returns how many there are with it.
    pub fn begin(&self) -> usize {
        self.0.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Takes a watcher out that does not sleep any more.
    pub fn end(&self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }

    /// Whether nobody watches. Called by a processor that has already said that it is busy; and by
    /// one that does not watch, before it looks whether others are busy.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.0.fetch_add(0, Ordering::AcqRel) == 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn those_who_watch_are_counted() {
        let watch = Watch::new();
        assert!(watch.is_off());
        assert_eq!([watch.begin(), watch.begin(), watch.begin()], [1, 2, 3]);
        watch.end();
        assert_eq!(watch.begin(), 3);
        for _ in 0..3 {
            assert!(!watch.is_off());
            watch.end();
        }
        assert!(watch.is_off());
    }
}
