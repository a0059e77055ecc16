//! A basic queue whose consumers take turns.
//!
//! Holds fibres that have not started: these may run on any processor, so idle
//! processors take them from here. The consumer lock is only ever tried, never
//! waited for: whoever is refused has better things to do than to spin on a
//! holder that may have lost its CPU.

use super::basic::BasicQueue;
use super::kind::QueueKind;
use super::{Link, Popped, Pushed};
use crate::sync::{AtomicBool, Ordering};
use std::ptr::NonNull;

/// The queue. See the module text.
#[derive(Debug)]
pub struct StealQueue {
    /// The nodes; consumed by the holder of `consumer` only.
    nodes: BasicQueue,
    /// Whether somebody is consuming. Taken with acquire, given with release,
    /// so that consumers see each other's resets of `head`.
    consumer: AtomicBool,
}

impl StealQueue {
    /// An empty queue.
    #[must_use]
    pub fn new(kind: QueueKind) -> Self {
        Self {
            nodes: BasicQueue::new(kind),
            consumer: AtomicBool::new(false),
        }
    }

    /// Whether the queue holds nothing, not even a push in flight.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Appends `node`. Any thread.
    ///
    /// # Safety
    ///
    /// As for [`BasicQueue::push`].
    #[inline]
    pub unsafe fn push(&self, node: NonNull<Link>) -> Pushed {
        // SAFETY: passed on.
        unsafe { self.nodes.push(node) }
    }

    /// Takes the oldest node out; any thread. [`Popped::InFlight`] also says that
    /// another consumer is at work.
    #[inline]
    pub fn pop(&self) -> Popped {
        if self.is_empty() {
            return Popped::Empty;
        }
        if self.consumer.swap(true, Ordering::Acquire) {
            return Popped::InFlight;
        }
        // SAFETY: the consumer lock is ours.
        let popped = unsafe { self.nodes.pop() };
        self.consumer.store(false, Ordering::Release);
        popped
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
