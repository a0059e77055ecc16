//! Queues of fibres, all intrusive: a fibre carries its own [`Link`], so that
//! queueing never allocates and never fails.
//!
//! * [`Fifo`]: one thread only, no atomics. What a processor's own fibres use
//!   when they yield or wake each other.
//! * [`Nemesis`]: many producers, one consumer. What other threads push into.
//! * [`StealQueue`]: a [`Nemesis`] whose consumers take turns by a lock, so that
//!   idle processors can help themselves.
//!
//! A fibre is in at most one queue at any time; whoever takes it out owns it.

mod fifo;
mod nemesis;
mod steal_queue;

pub use fifo::Fifo;
pub use nemesis::{Nemesis, Popped, Pushed};
pub use steal_queue::StealQueue;

use crate::sync::{AtomicPtr, Ordering};
use std::ptr::{self, NonNull};

/// The hook by which a fibre hangs in a queue.
#[derive(Debug)]
pub struct Link {
    /// The node behind this one; null at the end or while a push is in flight.
    next: AtomicPtr<Link>,
}

impl Link {
    /// A link that hangs nowhere.
    #[must_use]
    pub fn new() -> Self {
        Self {
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// The node behind this one, if a producer has published it.
    fn next(&self, order: Ordering) -> Option<NonNull<Link>> {
        NonNull::new(self.next.load(order))
    }

    /// Publishes `node` as the one behind this one.
    fn set_next(&self, node: *mut Link, order: Ordering) {
        self.next.store(node, order);
    }
}

impl Default for Link {
    fn default() -> Self {
        Self::new()
    }
}
