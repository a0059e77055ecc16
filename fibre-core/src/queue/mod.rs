//! Queues of fibres, all intrusive: a fibre carries its own [`Link`], so that
//! queueing never allocates and never fails.
//!
//! * [`Fifo`]: one thread only, no atomics. What a processor's own fibres use
//!   when they yield or wake each other.
//! * [`BasicQueue`]: many producers, one consumer, by one of the mechanisms that
//!   [`QueueKind`] names. What other threads push into.
//! * [`StealQueue`]: a [`BasicQueue`] whose consumers take turns by a lock, so that
//!   idle processors can help themselves.
//!
//! A fibre is in at most one queue at any time; whoever takes it out owns it.
//!
//! # The contract of every kind
//!
//! 1. Nothing is lost or doubled, and what one producer pushes comes out in its order.
//! 2. What a producer wrote before its push is visible to the consumer that pops it.
//! 3. The consumer goes to sleep in the queue: between an `arm` that returned `true`
//!    and the next `disarm`, exactly one push is told [`Pushed::WakeConsumer`], the
//!    first one.
//! 4. `is_empty` is in one order with the pushes and with other sequentially consistent
//!    operations: who announces itself by a read-modify-write and then finds a queue
//!    empty is seen by every producer that pushes later.
//! 5. A pop waits for no thread: what cannot be had after a short spin is
//!    [`Popped::InFlight`].

mod basic;
mod consumer;
mod entry;
mod fifo;
mod kind;
mod locked;
mod nemesis;
mod steal_queue;
#[cfg(all(test, not(loom)))]
mod stress;
mod stub;

pub use basic::BasicQueue;
#[cfg(loom)]
pub use consumer::ConsumerLock;
pub use fifo::Fifo;
pub use kind::{QueueKind, UnknownQueueKind};
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

/// What a push tells its caller to do.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// Nothing: the consumer is awake, or somebody else wakes it.
    Quiet,
    /// The consumer went to sleep on the empty queue: wake it.
    WakeConsumer,
}

/// What a pop found.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Popped {
    /// The oldest node, now the caller's.
    Node(NonNull<Link>),
    /// Nothing.
    Empty,
    /// Something, but it cannot be had now: a producer or another consumer is half-way.
    InFlight,
}
