//! Queues of fibres, all intrusive: a fibre carries its own [`Link`], so that
//! queueing never allocates and never fails.
//!
//! * [`Fifo`]: one thread only, no atomics. A processor's own fibres go through it when they yield
//!   or wake each other.
//! * [`BasicQueue`]: many producers, by one of the mechanisms that [`QueueKind`] names. Other
//!   threads push into it. It has one consumer, or several that take turns by a lock, so that idle
//!   processors can take from it.
//! * [`MultilevelQueue`]: a `BasicQueue` for each [`Level`] of priority.
//!
//! A ready fibre is an owned value, the [`Runnable`]: a push takes it, and a pop gives it to the
//! consumer.
//!
//! Files:
//!
//! * `link`: the hook that links a fibre into a queue;
//! * `runnable`: the owned value, and the invariants of the pointers in queues;
//! * `fifo`: a list for one thread;
//! * `entry`: the word that says whether a queue is empty and whether its consumer sleeps;
//! * `variants`: the kinds of queue, a file for each: many producers, one consumer;
//! * `kind`: the choice among these, as a value;
//! * `consumer`: decides who may consume: the owner, cheaply, or a thief;
//! * `basic`: one queue over all kinds;
//! * `multilevel`: a `basic` queue for each level of priority.
//!
//! # The contract of every kind
//!
//! 1. Nothing is lost or doubled, and the pushes of one producer come out in their order. (For a
//!    kind with two ends: its pushes at the tail, for pops at the head.)
//! 2. What a producer wrote before its push is visible to the consumer that pops it.
//! 3. The consumer goes to sleep in the queue: between an `arm` that returned `true`
//!    and the next `disarm`, exactly one push is told [`Pushed::WakeConsumer`], the
//!    first one.
//! 4. `is_empty` is in one order with the pushes and with other sequentially consistent operations:
//!    a thread that announces itself by a read-modify-write and then finds a queue empty is seen by
//!    every producer that pushes later.
//! 5. A pop waits for no thread: after a short spin it returns [`Popped::InFlight`].

mod basic;
mod consumer;
mod entry;
mod fifo;
mod kind;
mod link;
mod multilevel;
mod runnable;
#[cfg(all(test, not(loom)))]
mod stress;
mod variants;

pub use basic::BasicQueue;
pub use consumer::ConsumerLock;
pub use fifo::Fifo;
pub use kind::QueueKind;
pub use link::{LEVELS, Level, Link};
pub use multilevel::MultilevelQueue;
pub use runnable::Runnable;
#[cfg(not(loom))]
pub use runnable::{SharedSlot, Slot};

/// What the caller of a push has to do.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// Nothing: the consumer is awake, or another producer wakes it.
    Quiet,
    /// The consumer went to sleep on the empty queue: wake it.
    WakeConsumer,
}

/// What a pop found.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Popped<N = Runnable> {
    /// The oldest node, now the caller's.
    Node(N),
    /// The queue is empty.
    Empty,
    /// There is a node, but it cannot be had now: a producer or another consumer is half-way.
    InFlight,
}

impl<N> Popped<N> {
    /// The node, if there was one to be had.
    #[inline]
    pub fn node(self) -> Option<N> {
        match self {
            Self::Node(node) => Some(node),
            Self::Empty | Self::InFlight => None,
        }
    }

    /// Makes something else of the node.
    #[inline]
    pub fn map<M>(self, f: impl FnOnce(N) -> M) -> Popped<M> {
        match self {
            Self::Node(node) => Popped::Node(f(node)),
            Self::Empty => Popped::Empty,
            Self::InFlight => Popped::InFlight,
        }
    }
}
