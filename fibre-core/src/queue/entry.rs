//! The word of a queue that says whether it is empty, and whether its consumer sleeps.
//!
//! It is null when the queue is empty, `ASLEEP` when it is empty and its consumer sleeps
//! or is about to, and a node otherwise: the youngest in the lock-free queues, any one
//! in the locked queue.
//!
//! **The consumer goes to sleep in the queue.** A push into an empty queue swaps the word; the one
//! producer that swaps the mark out is told to wake the consumer ([`Pushed::WakeConsumer`]). So the
//! check for emptiness and going to sleep are one compare-and-swap on the word that every such push
//! swaps: a wake-up cannot be lost, and a push to a busy consumer costs nothing extra.
//!
//! # Memory ordering
//!
//! The swap is acquire-release, so that a producer that finds the queue empty writes after
//! the consumer's resets, which [`Entry::clear`] releases. It is sequentially consistent,
//! as are [`Entry::is_empty`] and [`Entry::arm`], so that of a producer that pushes and
//! then looks whether anybody is idle, and one that goes idle and then looks at the
//! queue, one sees the other.

use super::Pushed;
use super::link::Link;
use crate::sync::{AtomicPtr, Ordering, load_ptr_ordered};
use std::ptr::{self, NonNull};

/// The word. See the module text.
#[derive(Debug)]
pub(super) struct Entry {
    /// Null, `ASLEEP` or a node.
    word: AtomicPtr<Link>,
}

/// The mark of a sleeping consumer. No node has this address: nodes are aligned.
fn asleep() -> *mut Link {
    ptr::without_provenance_mut(1)
}

/// The node in a word.
#[inline]
fn node_in(word: *mut Link) -> Option<NonNull<Link>> {
    NonNull::new(word).filter(|node| node.as_ptr() != asleep())
}

impl Entry {
    /// That of an empty queue with an awake consumer.
    pub(super) fn new() -> Self {
        Self {
            word: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Whether the queue holds nothing, not even a push in flight.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        node_in(load_ptr_ordered(&self.word)).is_none()
    }

    /// Whether the consumer sleeps here at this moment; a hint.
    pub(super) fn is_armed(&self) -> bool {
        self.word.load(Ordering::Relaxed) == asleep()
    }

    /// Says that the consumer is about to sleep. `false`: the queue is not empty.
    ///
    /// Acquires what producers released, so that a caller that is refused pops.
    pub(super) fn arm(&self) -> bool {
        self.word
            .compare_exchange(
                ptr::null_mut(),
                asleep(),
                Ordering::SeqCst,
                Ordering::Acquire,
            )
            .is_ok()
    }

    /// Takes the mark back, if no producer has done so.
    pub(super) fn disarm(&self) {
        let _ = self.word.compare_exchange(
            asleep(),
            ptr::null_mut(),
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
    }

    /// Puts `node` in the place of what was there: a node, or nothing, in which case the
    /// second value says whether the consumer must be woken.
    #[inline]
    pub(super) fn swap(&self, node: NonNull<Link>) -> (Option<NonNull<Link>>, Pushed) {
        let before = self.word.swap(node.as_ptr(), Ordering::SeqCst);
        let pushed = if before == asleep() {
            Pushed::WakeConsumer
        } else {
            Pushed::Quiet
        };
        (node_in(before), pushed)
    }

    /// Empties the queue, if `node` is still in the word.
    #[inline]
    pub(super) fn clear(&self, node: NonNull<Link>) -> bool {
        self.word
            .compare_exchange(
                node.as_ptr(),
                ptr::null_mut(),
                Ordering::AcqRel,
                Ordering::Acquire,
            )
            .is_ok()
    }

    /// The node in the word, for a caller that keeps all others from changing it.
    pub(super) fn node(&self) -> Option<NonNull<Link>> {
        node_in(self.word.load(Ordering::Relaxed))
    }
}
