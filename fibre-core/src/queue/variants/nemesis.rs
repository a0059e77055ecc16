//! The Nemesis queue: intrusive, many producers, one consumer.
//!
//! Source: Buntinas, Mercier, Gropp, "Design and evaluation of Nemesis"
//! (2006), as used for ready queues in section 3.5 of the thesis.
//!
//! A producer swaps itself into the entry, which is the tail, and then hangs itself
//! behind the node it found there, or sets the head if it found none; between the two
//! steps the push is *in flight* and the consumer cannot see past it. The consumer spins
//! a little on such a gap and then says so ([`Popped::InFlight`]), because the producer
//! may have lost its CPU.
//!
//! # Memory ordering
//!
//! What a producer wrote to a fibre must be visible to the consumer that pops
//! it. The path is `next` or `head`: stored with release after the swap, loaded
//! with acquire. The consumer resets `head` before it clears the entry, which orders
//! the reset before the store of a producer that finds the queue empty.

use crate::queue::entry::Entry;
use crate::queue::link::Link;
use crate::queue::runnable::Runnable;
use crate::queue::{Popped, Pushed};
use crate::sync::{AtomicPtr, Ordering, SPIN_LIMIT, spin_hint};
use crossbeam_utils::CachePadded;
use std::ptr::{self, NonNull};

/// The Nemesis queue.
#[derive(Debug)]
#[repr(C)]
pub(in crate::queue) struct Nemesis {
    /// The youngest node, if any. First, as in every kind.
    entry: CachePadded<Entry>,
    /// The oldest node; null when empty or while the first push is in flight.
    head: CachePadded<AtomicPtr<Link>>,
}

impl Nemesis {
    /// An empty queue.
    pub(super) fn new() -> Self {
        Self {
            entry: CachePadded::new(Entry::new()),
            head: CachePadded::new(AtomicPtr::new(ptr::null_mut())),
        }
    }

    /// Whether it is empty, and whether its consumer sleeps.
    #[inline]
    pub(super) fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Appends a fibre. Any thread.
    #[inline]
    pub(super) fn push(&self, runnable: Runnable) -> Pushed {
        runnable.link().check_unlinked();
        let node = runnable.node();
        let (before, pushed) = self.entry.swap(node);
        match before {
            // SAFETY: the consumer keeps a node until its successor is linked.
            Some(before) => unsafe { before.as_ref() }.set_next(node.as_ptr(), Ordering::Release),
            None => self.head.store(node.as_ptr(), Ordering::Release),
        }
        pushed
    }

    /// Takes the oldest node out.
    ///
    /// # Safety
    ///
    /// One consumer at a time.
    #[inline]
    pub(super) unsafe fn pop(&self) -> Popped<NonNull<Link>> {
        let Some(node) = NonNull::new(self.head.load(Ordering::Acquire)) else {
            return if self.entry.is_empty() {
                Popped::Empty
            } else {
                Popped::InFlight
            };
        };
        // SAFETY: a node at the head is valid until this consumer removes it.
        let link = unsafe { node.as_ref() };
        if let Some(next) = link.next(Ordering::Acquire) {
            self.head.store(next.as_ptr(), Ordering::Relaxed);
            link.unlink();
            return Popped::Node(node);
        }
        self.pop_last(node, link)
    }

    /// How many nodes it has, without pushes in flight, or `most` if there are more.
    ///
    /// # Safety
    ///
    /// As for [`pop`](Self::pop).
    pub(super) unsafe fn count(&self, most: usize) -> usize {
        let first = NonNull::new(self.head.load(Ordering::Acquire));
        // SAFETY: only this consumer takes nodes out, so those that it meets stay valid.
        let next = |node: &NonNull<Link>| unsafe { node.as_ref() }.next(Ordering::Acquire);
        std::iter::successors(first, next).take(most).count()
    }

    /// Takes out `node`, behind which nothing was linked a moment ago.
    fn pop_last(&self, node: NonNull<Link>, link: &Link) -> Popped<NonNull<Link>> {
        // Before the entry is cleared: a producer that finds it so writes `head`.
        self.head.store(ptr::null_mut(), Ordering::Relaxed);
        if self.entry.clear(node) {
            return Popped::Node(node);
        }
        // A producer is between its swap and its link.
        for _ in 0..SPIN_LIMIT {
            if let Some(next) = link.next(Ordering::Acquire) {
                self.head.store(next.as_ptr(), Ordering::Relaxed);
                link.unlink();
                return Popped::Node(node);
            }
            spin_hint();
        }
        self.head.store(node.as_ptr(), Ordering::Relaxed);
        Popped::InFlight
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A push whose second step is still to come is told from an empty queue, in which a consumer
    /// would sleep.
    #[test]
    fn a_push_in_flight_is_told_from_emptiness() {
        let (queue, [first, second]) = (Nemesis::new(), [(); 2].map(|()| Link::new()));
        // SAFETY: there is one consumer, and the links stay where they are.
        unsafe {
            assert_eq!(queue.pop(), Popped::Empty);
            let (before, pushed) = queue.entry.swap(NonNull::from(&first));
            assert_eq!((before, pushed), (None, Pushed::Quiet));
            assert_eq!(queue.pop(), Popped::InFlight);
            queue
                .head
                .store((&raw const first).cast_mut(), Ordering::Release);
            let _ = queue.push(Runnable::bare(&second));
            assert_eq!((queue.count(9), queue.count(1)), (2, 1));
            for link in [&first, &second] {
                assert_eq!(queue.pop(), Popped::Node(NonNull::from(link)));
            }
            assert_eq!(queue.pop(), Popped::Empty);
        }
    }
}
