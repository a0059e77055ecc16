//! How many searches there have been, what the last one has found, and what it has cost.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Searches that have led to an answer.
static SEARCHES: AtomicU64 = AtomicU64::new(0);

/// Fibres that the last one of these has found.
static FOUND: AtomicU64 = AtomicU64::new(0);

/// The microseconds that it has taken, and those while all stood still.
static TOOK: AtomicU64 = AtomicU64::new(0);
static PAUSED: AtomicU64 = AtomicU64::new(0);

/// The searches of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StuckCounts {
    /// Searches for stuck fibres that have led to an answer.
    pub searches: u64,
    /// The stuck fibres that the last one has found.
    pub fibres: u64,
    /// How long the last one has taken.
    pub took: Duration,
    /// For how long all clusters have stood still for that, and all threads a bit less.
    pub paused: Duration,
}

impl StuckCounts {
    /// The counts at this moment.
    pub(crate) fn read() -> Self {
        Self {
            searches: SEARCHES.load(Ordering::Relaxed),
            fibres: FOUND.load(Ordering::Relaxed),
            took: Duration::from_micros(TOOK.load(Ordering::Relaxed)),
            paused: Duration::from_micros(PAUSED.load(Ordering::Relaxed)),
        }
    }
}

/// Counts a search that has found so many fibres.
pub(super) fn add(fibres: usize, took: Duration, paused: Duration) {
    FOUND.store(fibres as u64, Ordering::Relaxed);
    TOOK.store(took.as_micros() as u64, Ordering::Relaxed);
    PAUSED.store(paused.as_micros() as u64, Ordering::Relaxed);
    SEARCHES.fetch_add(1, Ordering::Relaxed);
}
