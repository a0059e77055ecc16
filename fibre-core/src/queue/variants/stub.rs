//! The stub queue: intrusive, many producers, one consumer.
//!
//! Source: Vyukov, "Intrusive MPSC node-based queue" (1024cores.net), made fully intrusive
//! as in section 3.5 of the thesis.
//!
//! A node that is not a fibre, the *stub*, stays in the queue when the last fibre is taken out. So
//! a producer always finds a node to link itself behind, and the head belongs to the consumer
//! alone. In an empty Nemesis queue producers write the head; here they write the stub's link.
//!
//! Vyukov's consumer puts the stub back with a push. After that, `tail == stub` does not mean that
//! the queue is empty: a push may be in flight before the stub. Here the consumer compares and
//! swaps the last node for the stub, and if that fails, a successor is on its way. So the stub is
//! the youngest node only in an empty queue. The entry of that is null, and the sleeping consumer's
//! mark keeps its meaning. A queue can be moved, since nothing holds the stub's address.
//!
//! # Memory ordering
//!
//! What a producer wrote to a fibre is visible to the consumer by way of `next`: stored with
//! release after the swap, loaded with acquire. The consumer resets the stub's link
//! before it clears the entry, which orders the reset before the store of a producer that
//! finds the queue empty.

use crate::queue::entry::Entry;
use crate::queue::link::Link;
use crate::queue::runnable::Runnable;
use crate::queue::{Popped, Pushed};
use crate::sync::{AtomicPtr, Ordering, SPIN_LIMIT, spin_hint};
use crossbeam_utils::CachePadded;
use std::ptr::{self, NonNull};

/// The queue with a stub.
#[derive(Debug)]
#[repr(C)]
pub(in crate::queue) struct Stub {
    /// The youngest node, if any. First, as in every kind.
    entry: CachePadded<Entry>,
    /// The oldest node; null stands for the stub. The consumer only.
    head: CachePadded<AtomicPtr<Link>>,
    /// What the first push into an empty queue hangs itself behind.
    stub: CachePadded<Link>,
}

impl Stub {
    /// An empty queue.
    pub(super) fn new() -> Self {
        Self {
            entry: CachePadded::new(Entry::new()),
            head: CachePadded::new(AtomicPtr::new(ptr::null_mut())),
            stub: CachePadded::new(Link::new()),
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
        let before = before.unwrap_or(NonNull::from(&*self.stub));
        // SAFETY: the consumer keeps a node until its successor is linked, and the stub
        // is part of the queue.
        unsafe { before.as_ref() }.set_next(node.as_ptr(), Ordering::Release);
        pushed
    }

    /// Takes the oldest node out.
    ///
    /// # Safety
    ///
    /// One consumer at a time.
    #[inline]
    pub(super) unsafe fn pop(&self) -> Popped<NonNull<Link>> {
        let node = match NonNull::new(self.head.load(Ordering::Relaxed)) {
            Some(node) => node,
            None => match self.pass_stub() {
                Ok(node) => node,
                Err(nothing) => return nothing,
            },
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

    /// Takes the stub out of the way and returns the node behind it, or why there is none.
    #[inline]
    fn pass_stub(&self) -> Result<NonNull<Link>, Popped<NonNull<Link>>> {
        match self.stub.next(Ordering::Acquire) {
            Some(node) => {
                // Before the entry is cleared: a producer that finds it so writes here.
                self.stub.set_next(ptr::null_mut(), Ordering::Relaxed);
                Ok(node)
            }
            None if self.entry.is_empty() => Err(Popped::Empty),
            None => Err(Popped::InFlight),
        }
    }

    /// Takes out `node`, behind which nothing was linked a moment ago.
    fn pop_last(&self, node: NonNull<Link>, link: &Link) -> Popped<NonNull<Link>> {
        if self.entry.clear(node) {
            self.head.store(ptr::null_mut(), Ordering::Relaxed);
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
        let (queue, [first, second]) = (Stub::new(), [(); 2].map(|()| Link::new()));
        // SAFETY: there is one consumer, and the links stay where they are.
        unsafe {
            assert_eq!(queue.pop(), Popped::Empty);
            let (before, pushed) = queue.entry.swap(NonNull::from(&first));
            assert_eq!((before, pushed), (None, Pushed::Quiet));
            assert_eq!(queue.pop(), Popped::InFlight);
            queue
                .stub
                .set_next((&raw const first).cast_mut(), Ordering::Release);
            let _ = queue.push(Runnable::bare(&second));
            for link in [&first, &second] {
                assert_eq!(queue.pop(), Popped::Node(NonNull::from(link)));
            }
            assert_eq!(queue.pop(), Popped::Empty);
        }
    }
}
