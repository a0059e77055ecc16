//! One queue over all kinds.
//!
//! The kind is a value of the cluster and not a type parameter, so that the runtime is
//! compiled once. What it costs is one well-predicted branch a push and a pop. Asking for
//! emptiness costs none: every kind has its [`Entry`] at the same place.

use super::entry::Entry;
use super::kind::QueueKind;
use super::locked::Locked;
use super::nemesis::Nemesis;
use super::runnable::Runnable;
use super::stub::Stub;
use super::{Popped, Pushed};

/// Many producers, one consumer. See the contract in [`crate::queue`].
#[derive(Debug)]
pub struct BasicQueue(Nodes);

/// The nodes, by kind.
#[derive(Debug)]
enum Nodes {
    /// See [`Nemesis`].
    Nemesis(Nemesis),
    /// See [`Stub`].
    Stub(Stub),
    /// See [`Locked`].
    Locked(Locked),
}

impl BasicQueue {
    /// An empty queue with an awake consumer.
    #[must_use]
    pub fn new(kind: QueueKind) -> Self {
        Self(match kind {
            QueueKind::Nemesis => Nodes::Nemesis(Nemesis::new()),
            QueueKind::Stub => Nodes::Stub(Stub::new()),
            QueueKind::Locked => Nodes::Locked(Locked::new()),
        })
    }

    /// The word by which emptiness and sleep are known.
    #[inline]
    fn entry(&self) -> &Entry {
        match &self.0 {
            Nodes::Nemesis(nodes) => nodes.entry(),
            Nodes::Stub(nodes) => nodes.entry(),
            Nodes::Locked(nodes) => nodes.entry(),
        }
    }

    /// Whether the queue holds nothing, not even a push in flight.
    ///
    /// Sequentially consistent: after an announcement by a read-modify-write,
    /// the caller either sees a push or is seen by its producer.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entry().is_empty()
    }

    /// Whether the consumer sleeps here at this moment; a hint.
    #[must_use]
    pub fn is_armed(&self) -> bool {
        self.entry().is_armed()
    }

    /// Appends a fibre. Any thread.
    #[inline]
    pub fn push(&self, runnable: Runnable) -> Pushed {
        match &self.0 {
            Nodes::Nemesis(nodes) => nodes.push(runnable),
            Nodes::Stub(nodes) => nodes.push(runnable),
            Nodes::Locked(nodes) => nodes.push(runnable),
        }
    }

    /// Takes the oldest fibre out.
    ///
    /// # Safety
    ///
    /// One consumer at a time.
    #[inline]
    pub unsafe fn pop(&self) -> Popped {
        // SAFETY: one consumer, as the caller promises. A push was given the runnable of what comes
        // out, and it comes out once (invariant 1).
        unsafe {
            let popped = match &self.0 {
                Nodes::Nemesis(nodes) => nodes.pop(),
                Nodes::Stub(nodes) => nodes.pop(),
                Nodes::Locked(nodes) => nodes.pop(),
            };
            popped.map(|node| Runnable::new(node))
        }
    }

    /// Says that the consumer is about to sleep: the next push is told to wake it.
    /// `false`: the queue is not empty.
    ///
    /// Acquires what producers released, so that a caller that is refused pops.
    #[must_use]
    pub fn arm(&self) -> bool {
        self.entry().arm()
    }

    /// Ends what [`arm`](Self::arm) began, if no push has done so.
    pub fn disarm(&self) {
        self.entry().disarm();
    }
}
