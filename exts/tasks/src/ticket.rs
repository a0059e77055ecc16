//! A request as lines see it: what it lacks, and how it is told that it lacks nothing.
//!
//! # Memory ordering
//!
//! The count changes under the locks of lines only. Two lines may admit a request at a time, so the
//! decrement is an acquire and a release: the one that starts the request sees what the former
//! users of all its objects did. The first count is stored while the locks of all the lines are
//! held, so nobody reads an older one.

use fibre_core::sync::{AtomicUsize, Ordering};
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

/// Requests that have all that they want, in the order they came to it.
pub type Granted<'s> = SmallVec<[Arc<dyn Waiting<'s> + 's>; 2]>;

/// A request that may wait in lines.
pub trait Waiting<'s>: Send + Sync {
    /// What it lacks.
    fn ticket(&self) -> &Ticket;

    /// Called once, when it has all that it wants, outside of all locks. A request that cannot use
    /// it gives all back, as [`Line::give_back`](crate::line::Line::give_back).
    fn start(self: Arc<Self>, granted: &mut Granted<'s>);
}

/// How many permissions a request lacks, and which one it is.
pub struct Ticket {
    missing: AtomicUsize,
    number: AtomicUsize,
}

/// The number of the next request that enters lines. Not one of a model's words: it decides nothing
/// that the locks of the lines do not order.
static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// The count of a request that is in no line, and has not been granted.
const NOWHERE: usize = usize::MAX;

impl Ticket {
    /// The ticket of a request that has entered no line.
    #[must_use]
    pub fn new() -> Self {
        Self {
            missing: AtomicUsize::new(NOWHERE),
            number: AtomicUsize::new(0),
        }
    }

    /// Gives the request a number. Under the locks of all lines that it is about to enter, so that
    /// in each of them the numbers grow.
    pub(crate) fn enumerate(&self) {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        self.number.store(number, Ordering::Relaxed);
    }

    /// The number of the request. Under the lock of one of its lines.
    pub(crate) fn number(&self) -> usize {
        self.number.load(Ordering::Relaxed)
    }

    /// Says how many permissions lack. Under the locks of all its lines.
    pub(crate) fn lacks(&self, missing: usize) {
        self.missing.store(missing, Ordering::Relaxed);
    }

    /// Notes that one more permission is there. Under the lock of its line. Returns whether it was
    /// the last one that lacked.
    pub(crate) fn count_one(&self) -> bool {
        self.missing.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// Whether it is in a line. Under the locks of all its lines.
    pub(crate) fn waits(&self) -> bool {
        !matches!(self.missing.load(Ordering::Acquire), 0 | NOWHERE)
    }

    /// Notes that it has left all its lines. Under their locks.
    pub(crate) fn withdraw(&self) {
        self.missing.store(NOWHERE, Ordering::Relaxed);
    }
}

impl Default for Ticket {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ticket").finish_non_exhaustive()
    }
}
