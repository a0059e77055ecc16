//! How many processors watch the others.
//!
//! Where processors look at their events themselves, a fibre that does not let go of one keeps
//! events from all others that wait for them. So an idle processor looks now and then whether the
//! others still do, see `processor/watching.rs`. It stops when nobody has done anything for
//! a while, so that a cluster without work sleeps for good; then whoever becomes busy wakes one.
//!
//! That must not miss: either the one that stops sees that another one is busy, or that one
//! sees that nobody watches. So each first says what it has become, and looks then.
//!
//! # Memory ordering
//!
//! Becoming busy is a plain store, followed by a read-modify-write of this word; who stops
//! changes this word and reads that store then. The read-modify-writes are in one order: the
//! second one of the two sees the first one, and what came before it.

use crate::sync::{AtomicUsize, Ordering};

/// See the module text.
#[derive(Debug)]
pub struct Watch(AtomicUsize);

impl Watch {
    /// Nobody watches.
    #[must_use]
    #[allow(
        clippy::new_without_default,
        reason = "one per cluster, never a default"
    )]
    pub fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// One more will watch while it sleeps. Says how many do with it.
    pub fn begin(&self) -> usize {
        self.0.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// One that watched does not sleep any more.
    pub fn end(&self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }

    /// Whether nobody watches. Called by one that has said before that it is busy; and by one
    /// that does not watch, before it looks whether others are.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.0.fetch_add(0, Ordering::AcqRel) == 0
    }
}
