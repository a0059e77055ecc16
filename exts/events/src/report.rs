//! What has happened to events.

use crate::runtime::Runtime;
use fibre_core::sync::Ordering;
use std::time::Duration;

/// What has happened to events up to now. See [`Events::report`](crate::Events::report).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Report {
    /// Events that have run.
    pub ran: u64,
    /// Events that were dropped, because they came after a stop, or pending ones were to be
    /// dropped.
    pub dropped: u64,
    /// Events that have run, and panicked.
    pub panicked: u64,
    /// Colours that were stolen.
    pub thefts: u64,
    /// The events that these had.
    pub stolen_events: u64,
    /// The time that these events were taken to need, by what was known of their handlers, divided
    /// by their penalties.
    pub stolen_time: Duration,
    /// The time that the thefts took.
    pub theft_time: Duration,
}

impl Report {
    /// Adds up the counts of all processors.
    pub(crate) fn of(runtime: &Runtime) -> Self {
        let refused = runtime.refused.load(Ordering::Relaxed);
        Self {
            ran: runtime.sum(|counts| &counts.ran),
            dropped: runtime.sum(|counts| &counts.dropped) + refused,
            panicked: runtime.sum(|counts| &counts.panicked),
            thefts: runtime.sum(|counts| &counts.thefts),
            stolen_events: runtime.sum(|counts| &counts.stolen_events),
            stolen_time: Duration::from_nanos(runtime.sum(|counts| &counts.stolen_time)),
            theft_time: Duration::from_nanos(runtime.sum(|counts| &counts.theft_time)),
        }
    }
}
