//! One queue over all kinds, with one consumer, or several that take turns.
//!
//! The kind is a value of the cluster and not a type parameter, so that the runtime is compiled
//! once. Its cost is one well-predicted branch for each push and pop. A check for emptiness needs
//! no branch: every kind has its [`Entry`] at the same place.
//!
//! Where several threads consume, one is the owner and the others are thieves. They take turns
//! through a [`ConsumerLock`], which consumers try but never wait for. If the kind has two ends,
//! thieves take at the tail, and the owner at the head. A queue with one consumer does not use the
//! lock.

use super::consumer::ConsumerLock;
use super::entry::Entry;
use super::kind::QueueKind;
use super::runnable::Runnable;
use super::variants::Nodes;
use super::{Link, Popped, Pushed};
use crate::sync::heavy_barrier;
use crossbeam_utils::CachePadded;
use std::ptr::NonNull;

/// The queue. See the module text, and the contract in [`crate::queue`].
#[derive(Debug)]
pub struct BasicQueue {
    /// The nodes; consumed by the holder of `consumer`.
    nodes: Nodes,
    /// The lock that says whose turn it is to consume them.
    consumer: CachePadded<ConsumerLock>,
}

/// Makes a fibre of the node that a pop found.
///
/// # Safety
///
/// The node has just been popped.
#[inline(always)]
unsafe fn runnable(popped: Popped<NonNull<Link>>) -> Popped {
    // SAFETY: a push was given the runnable of what comes out, and it comes out once (invariant 1).
    popped.map(|node| unsafe { Runnable::new(node) })
}

impl BasicQueue {
    /// An empty queue with an awake consumer.
    #[must_use]
    pub fn new(kind: QueueKind) -> Self {
        Self {
            nodes: Nodes::new(kind),
            consumer: CachePadded::new(ConsumerLock::new(heavy_barrier())),
        }
    }

    /// The word by which emptiness and sleep are known.
    #[inline]
    fn entry(&self) -> &Entry {
        self.nodes.entry()
    }

    /// Whether the queue holds nothing, not even a push in flight.
    ///
    /// Sequentially consistent: after an announcement by a read-modify-write,
    /// the caller either sees a push or is seen by its producer.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entry().is_empty()
    }

    /// Appends a fibre. Any thread.
    #[inline]
    pub fn push(&self, runnable: Runnable) -> Pushed {
        self.nodes.push(runnable)
    }

    /// Puts a fibre before the others, if the kind has two ends; else appends it. Any thread.
    pub fn push_first(&self, runnable: Runnable) -> Pushed {
        self.nodes.push_first(runnable)
    }

    /// Takes the oldest fibre out; any thread. [`Popped::InFlight`] also says that another consumer
    /// is at work.
    // A processor that looks for work finds most queues empty, and should see that without a call.
    #[inline]
    pub fn pop(&self) -> Popped {
        if self.is_empty() {
            return Popped::Empty;
        }
        // SAFETY: one consumer at a time.
        self.consume(|queue| unsafe { queue.pop_alone() })
    }

    /// Takes the fibre out that a thief takes: at the tail, if the kind has two ends; else as
    /// [`pop`](Self::pop).
    #[inline]
    pub fn steal(&self) -> Popped {
        if self.is_empty() {
            return Popped::Empty;
        }
        // SAFETY: one consumer at a time.
        self.consume(|queue| unsafe { queue.pop_last_alone() })
    }

    /// Takes a fibre out as one of several consumers.
    fn consume(&self, take: impl Fn(&Self) -> Popped) -> Popped {
        let popped = self.consumer.steal(|| take(self));
        popped.unwrap_or(Popped::InFlight)
    }

    /// [`pop`](Self::pop) for the owner, cheaper as long as no other thread pops.
    ///
    /// # Safety
    ///
    /// One owner: calls follow each other.
    #[inline]
    pub unsafe fn pop_own(&self) -> Popped {
        if self.is_empty() {
            return Popped::Empty;
        }
        // SAFETY: the lock calls it for one consumer at a time; one owner, as the caller promises.
        let popped = unsafe { self.consumer.own(|| self.pop_alone()) };
        popped.unwrap_or(Popped::InFlight)
    }

    /// [`pop`](Self::pop) for the only consumer.
    ///
    /// # Safety
    ///
    /// One consumer at a time.
    #[inline]
    pub unsafe fn pop_alone(&self) -> Popped {
        // SAFETY: one consumer, as the caller promises; just popped.
        unsafe { runnable(self.nodes.pop()) }
    }

    /// [`steal`](Self::steal) for the only consumer.
    ///
    /// # Safety
    ///
    /// One consumer at a time.
    pub unsafe fn pop_last_alone(&self) -> Popped {
        // SAFETY: one consumer, as the caller promises; just popped.
        unsafe { runnable(self.nodes.pop_last()) }
    }

    /// How many fibres it has, without pushes in flight, or `most` if there are more. `None`: the
    /// kind does not tell, or another consumer is at work. Any thread, which counts as a thief.
    pub fn count(&self, most: usize) -> Option<usize> {
        if self.is_empty() {
            return Some(0);
        }
        // SAFETY: one consumer at a time.
        let count = self.consumer.steal(|| unsafe { self.nodes.count(most) });
        count.flatten()
    }

    /// [`count`](Self::count) for the owner.
    ///
    /// # Safety
    ///
    /// As for [`pop_own`](Self::pop_own).
    pub unsafe fn count_own(&self, most: usize) -> Option<usize> {
        if self.is_empty() {
            return Some(0);
        }
        // SAFETY: the lock calls it for one consumer at a time; one owner, as the caller promises.
        let count = unsafe { self.consumer.own(|| self.nodes.count(most)) };
        count.flatten()
    }

    /// Whether the owner sleeps here at this moment; a hint.
    #[must_use]
    pub fn is_armed(&self) -> bool {
        self.entry().is_armed()
    }

    /// Says that the owner is about to sleep: the next push is told to wake it.
    /// `false`: the queue is not empty. The owner only.
    ///
    /// Acquires what producers released, so that a caller that is refused pops.
    #[must_use]
    pub fn arm(&self) -> bool {
        self.entry().arm()
    }

    /// Ends what [`arm`](Self::arm) began, if no push has done so. The owner only.
    pub fn disarm(&self) {
        self.entry().disarm();
    }
}
