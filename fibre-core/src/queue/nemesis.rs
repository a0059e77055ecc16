//! The Nemesis queue: intrusive, many producers, one consumer.
//!
//! Source: Buntinas, Mercier, Gropp, "Design and evaluation of Nemesis"
//! (2006), as used for ready queues in section 3.5 of the thesis.
//!
//! A producer swaps itself into `tail` and then hangs itself behind the node it
//! found there; between the two steps the push is *in flight* and the consumer
//! cannot see past it. The consumer spins a little on such a gap and then says
//! so ([`Popped::InFlight`]), because the producer may have lost its CPU.
//!
//! One thing is ours: **the consumer goes to sleep in the queue.** `tail` of an
//! empty queue is null, or [`Nemesis::arm`] has put the mark `ASLEEP` there.
//! The one producer that swaps the mark out is told to wake the consumer
//! ([`Pushed::WakeConsumer`]). Checking for emptiness and going to sleep are thus
//! one compare-and-swap on the word that every push swaps: a wake-up cannot be
//! lost, and a push on a busy consumer costs nothing extra.
//!
//! # Memory ordering
//!
//! What a producer wrote to a fibre must be visible to the consumer that pops
//! it. The path is `next` or `head`: stored with release after the swap, loaded
//! with acquire. The swap of `tail` is acquire-release, so that a producer that
//! finds the queue empty writes `head` after the consumer's reset of it.

use super::Link;
use crate::sync::{AtomicPtr, Ordering, SPIN_LIMIT, load_ptr_ordered, spin_hint};
use crossbeam_utils::CachePadded;
use std::ptr::{self, NonNull};

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
    /// Something, but it cannot be had now: its producer is half-way.
    InFlight,
}

/// The queue. See the module text.
#[derive(Debug)]
pub struct Nemesis {
    /// The youngest node, null when empty, `ASLEEP` when empty and armed.
    tail: CachePadded<AtomicPtr<Link>>,
    /// The oldest node; null when empty or while the first push is in flight.
    head: CachePadded<AtomicPtr<Link>>,
}

/// The mark of a sleeping consumer. No node has this address: nodes are aligned.
fn asleep() -> *mut Link {
    ptr::without_provenance_mut(1)
}

impl Default for Nemesis {
    fn default() -> Self {
        Self::new()
    }
}

impl Nemesis {
    /// An empty queue with an awake consumer.
    #[must_use]
    pub fn new() -> Self {
        Self {
            tail: CachePadded::new(AtomicPtr::new(ptr::null_mut())),
            head: CachePadded::new(AtomicPtr::new(ptr::null_mut())),
        }
    }

    /// Whether the queue holds nothing, not even a push in flight.
    ///
    /// Sequentially consistent: after an announcement by a read-modify-write,
    /// the caller either sees a push or is seen by its producer.
    #[inline]
    pub fn is_empty(&self) -> bool {
        let tail = load_ptr_ordered(&self.tail);
        tail.is_null() || tail == asleep()
    }

    /// Whether the consumer sleeps here at this moment; a hint.
    #[must_use]
    pub fn is_armed(&self) -> bool {
        self.tail.load(Ordering::Relaxed) == asleep()
    }

    /// Appends `node`. Any thread.
    ///
    /// # Safety
    ///
    /// `node` is in no queue, and stays valid and unmoved until popped.
    #[inline]
    pub unsafe fn push(&self, node: NonNull<Link>) -> Pushed {
        // SAFETY: the caller owns `node` until the swap publishes it.
        unsafe { node.as_ref() }.set_next(ptr::null_mut(), Ordering::Relaxed);
        let previous = self.tail.swap(node.as_ptr(), Ordering::SeqCst);
        if previous.is_null() || previous == asleep() {
            self.head.store(node.as_ptr(), Ordering::Release);
        } else {
            // SAFETY: the consumer keeps a node until its successor is linked.
            unsafe { &*previous }.set_next(node.as_ptr(), Ordering::Release);
        }
        if previous == asleep() {
            Pushed::WakeConsumer
        } else {
            Pushed::Quiet
        }
    }

    /// Takes the oldest node out.
    ///
    /// # Safety
    ///
    /// One consumer at a time.
    #[inline]
    pub unsafe fn pop(&self) -> Popped {
        let Some(node) = NonNull::new(self.head.load(Ordering::Acquire)) else {
            return if self.is_empty() {
                Popped::Empty
            } else {
                Popped::InFlight
            };
        };
        // SAFETY: a node at the head is valid until this consumer removes it.
        let link = unsafe { node.as_ref() };
        if let Some(next) = link.next(Ordering::Acquire) {
            self.head.store(next.as_ptr(), Ordering::Relaxed);
            return Popped::Node(node);
        }
        self.pop_last(node, link)
    }

    /// Takes out `node`, behind which nothing was linked a moment ago.
    fn pop_last(&self, node: NonNull<Link>, link: &Link) -> Popped {
        // Before the swap: a producer that finds the queue empty writes `head`.
        self.head.store(ptr::null_mut(), Ordering::Relaxed);
        let emptied = self.tail.compare_exchange(
            node.as_ptr(),
            ptr::null_mut(),
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        if emptied.is_ok() {
            return Popped::Node(node);
        }
        // Somebody is between its swap and its link.
        for _ in 0..SPIN_LIMIT {
            if let Some(next) = link.next(Ordering::Acquire) {
                self.head.store(next.as_ptr(), Ordering::Relaxed);
                return Popped::Node(node);
            }
            spin_hint();
        }
        self.head.store(node.as_ptr(), Ordering::Relaxed);
        Popped::InFlight
    }

    /// Says that the consumer is about to sleep. `false`: the queue is not empty.
    ///
    /// Acquires what producers released, so that a caller who is refused pops.
    #[must_use]
    pub fn arm(&self) -> bool {
        self.tail
            .compare_exchange(
                ptr::null_mut(),
                asleep(),
                Ordering::SeqCst,
                Ordering::Acquire,
            )
            .is_ok()
    }

    /// Takes the mark back, if no producer has done so.
    pub fn disarm(&self) {
        let _ = self.tail.compare_exchange(
            asleep(),
            ptr::null_mut(),
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
    }
}
