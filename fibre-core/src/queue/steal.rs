//! A basic queue whose consumers take turns.
//!
//! Holds fibres that have not started: these may run on any processor, so idle
//! processors take them from here. The consumer lock is only ever tried, never
//! waited for: see [`ConsumerLock`]. Where the kind has two ends, thieves take at the tail, and the
//! owner at the head.

use super::consumer::ConsumerLock;
use super::kind::QueueKind;
use super::mpsc::BasicQueue;
use super::runnable::Runnable;
use super::{Popped, Pushed};
use crate::sync::heavy_barrier;
use crossbeam_utils::CachePadded;

/// The queue. See the module text.
#[derive(Debug)]
pub struct StealQueue {
    /// The nodes; consumed by the holder of `consumer`.
    nodes: BasicQueue,
    /// The lock that says whose turn it is to consume them.
    consumer: CachePadded<ConsumerLock>,
}

impl StealQueue {
    /// An empty queue.
    #[must_use]
    pub fn new(kind: QueueKind) -> Self {
        Self {
            nodes: BasicQueue::new(kind),
            consumer: CachePadded::new(ConsumerLock::new(heavy_barrier())),
        }
    }

    /// Whether the queue holds nothing, not even a push in flight.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
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

    /// Takes the oldest node out; any thread. [`Popped::InFlight`] also says that another consumer
    /// is at work.
    // A processor that looks for work finds most queues empty, and should see that without a call.
    #[inline]
    pub fn pop(&self) -> Popped {
        if self.is_empty() {
            return Popped::Empty;
        }
        // SAFETY: one consumer at a time.
        self.consume(|nodes| unsafe { nodes.pop() })
    }

    /// Takes the node out that a thief takes: at the tail, if the kind has two ends; else as
    /// [`pop`](Self::pop).
    #[inline]
    pub fn steal(&self) -> Popped {
        if self.is_empty() {
            return Popped::Empty;
        }
        // SAFETY: one consumer at a time.
        self.consume(|nodes| unsafe { nodes.pop_last() })
    }

    /// How many nodes it has, without pushes in flight, or `most` if there are more. `None`: the
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

    /// Takes a node out as one of several consumers.
    fn consume(&self, take: impl Fn(&BasicQueue) -> Popped) -> Popped {
        let popped = self.consumer.steal(|| take(&self.nodes));
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
        let popped = unsafe { self.consumer.own(|| self.nodes.pop()) };
        popped.unwrap_or(Popped::InFlight)
    }

    /// See [`BasicQueue::is_armed`].
    #[must_use]
    pub fn is_armed(&self) -> bool {
        self.nodes.is_armed()
    }

    /// See [`BasicQueue::arm`]. The owner only.
    #[must_use]
    pub fn arm(&self) -> bool {
        self.nodes.arm()
    }

    /// See [`BasicQueue::disarm`]. The owner only.
    pub fn disarm(&self) {
        self.nodes.disarm();
    }
}
