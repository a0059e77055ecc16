//! Queues of fibres, all intrusive: a fibre carries its own [`Link`], so that
//! queueing never allocates and never fails.
//!
//! * [`Fifo`]: one thread only, no atomics. What a processor's own fibres use
//!   when they yield or wake each other.
//! * [`BasicQueue`]: many producers, one consumer, by one of the mechanisms that
//!   [`QueueKind`] names. What other threads push into.
//! * [`StealQueue`](steal_queue::StealQueue): a [`BasicQueue`] whose consumers take turns by a lock, so that
//!   idle processors can help themselves.
//! * [`LogicalQueue`]: a `StealQueue` for each [`Level`] of priority.
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
mod link;
mod locked;
mod logical;
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
pub use link::{LEVELS, Level, Link};
pub use logical::LogicalQueue;
#[cfg(loom)]
pub use steal_queue::StealQueue;

use std::ptr::NonNull;

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
