//! Fibres on their way to a processor where they will stay.
//!
//! A burst of connections is placed before the first of its fibres has started. So for each
//! processor two numbers are noted: how many fibres have been sent there since none was on its way,
//! and how many had started there by then. Those that have not started since are still on their
//! way. Other spawns make this slightly wrong, until the processor's queue is empty.
//!
//! # Memory ordering
//!
//! All words are hints, and relaxed. A client that has been answered by a fibre has waited for its
//! start, and so has whoever accepts that client's next connection.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What is on its way to one processor.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// Fibres that have been sent there since none was on its way.
    sent: AtomicU64,
    /// How many fibres had started there by then.
    started: AtomicU64,
    /// Whether one fibre kept the processor when the monitor last looked.
    kept: AtomicBool,
}

impl Arrivals {
    /// Notes whether one fibre keeps the processor from all others. The monitor only.
    pub(crate) fn set_kept(&self, kept: bool) {
        self.kept.store(kept, Ordering::Relaxed);
    }

    /// Whether one fibre kept the processor when the monitor last looked.
    pub(super) fn is_kept(&self) -> bool {
        self.kept.load(Ordering::Relaxed)
    }

    /// Notes one more, to a processor with so many started fibres, where so many are on their way.
    pub(super) fn note(&self, started: u64, on_their_way: u64) {
        let mut before = self.sent.load(Ordering::Relaxed);
        if on_their_way == 0 {
            self.started.store(started, Ordering::Relaxed);
            before = 0;
        }
        self.sent.store(before + 1, Ordering::Relaxed);
    }

    /// How many are still on their way to a processor with so many started fibres.
    pub(super) fn on_their_way(&self, started: u64) -> u64 {
        let arrived = started.saturating_sub(self.started.load(Ordering::Relaxed));
        self.sent.load(Ordering::Relaxed).saturating_sub(arrived)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_started_is_no_longer_on_its_way() {
        let arrivals = Arrivals::default();
        (0..3).for_each(|sent| arrivals.note(5, sent));
        let left: Vec<_> = (5..10)
            .map(|started| arrivals.on_their_way(started))
            .collect();
        assert_eq!(left, [3, 2, 1, 0, 0]);
        arrivals.note(1000, 0);
        assert_eq!(
            arrivals.on_their_way(1000),
            1,
            "what started before does not count"
        );
    }
}
