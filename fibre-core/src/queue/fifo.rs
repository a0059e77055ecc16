//! A first-in first-out list for one thread.
//!
//! The processor's own end of its ready queue. A fibre that yields, or that another fibre of the
//! processor wakes, costs two plain stores here and no atomic read-modify-write.

use super::link::Link;
use super::runnable::Runnable;
use crate::sync::Ordering;
use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicPtr;

/// An intrusive FIFO that only its owner thread touches.
#[derive(Debug, Default)]
pub struct Fifo {
    /// The oldest node, or null: others may look whether there is one.
    head: AtomicPtr<Link>,
    /// The youngest node; meaningful while `head` is not `None`.
    tail: Cell<Option<NonNull<Link>>>,
}

impl Fifo {
    /// An empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            head: AtomicPtr::new(ptr::null_mut()),
            tail: Cell::new(None),
        }
    }

    /// Where the word is that names the youngest node: also one that has been taken out.
    pub(crate) fn tail_word(&self) -> usize {
        self.tail.as_ptr().addr()
    }

    /// Whether nothing is in the list. Any thread, for which it is a hint.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head.load(Ordering::Relaxed).is_null()
    }

    /// The oldest fibre, which stays in the list.
    #[inline]
    pub fn first(&self) -> Option<NonNull<Link>> {
        NonNull::new(self.head.load(Ordering::Relaxed))
    }

    /// Appends a fibre.
    #[inline]
    pub fn push(&self, runnable: Runnable) {
        runnable.link().check_unlinked();
        let node = runnable.node();
        match self.tail.replace(Some(node)) {
            Some(last) if !self.is_empty() => {
                // SAFETY: in the list, so its runnable has not been consumed (invariant 2).
                let last = unsafe { last.as_ref() };
                last.set_next(node.as_ptr(), Ordering::Relaxed);
            }
            _ => self.head.store(node.as_ptr(), Ordering::Relaxed),
        }
    }

    /// Puts a fibre before all others.
    #[inline]
    pub fn push_front(&self, runnable: Runnable) {
        runnable.link().check_unlinked();
        let (first, node) = (self.first(), runnable.node());
        self.head.store(node.as_ptr(), Ordering::Relaxed);
        if first.is_none() {
            self.tail.set(Some(node));
        }
        let next = first.map_or(ptr::null_mut(), NonNull::as_ptr);
        runnable.link().set_next(next, Ordering::Relaxed);
    }

    /// Takes the oldest fibre out.
    #[inline]
    pub fn pop(&self) -> Option<Runnable> {
        // SAFETY: a push was given its runnable, and it leaves the list below (invariant 1).
        let runnable = unsafe { Runnable::new(self.first()?) };
        let next = runnable.link().next(Ordering::Relaxed);
        let next = next.map_or(ptr::null_mut(), NonNull::as_ptr);
        self.head.store(next, Ordering::Relaxed);
        runnable.link().unlink();
        Some(runnable)
    }

    /// How many nodes it has, or `most` if there are more.
    #[must_use]
    pub fn count(&self, most: usize) -> usize {
        // SAFETY: nodes in the list are alive (invariant 2), and only this thread takes them out.
        let next = |node: &NonNull<Link>| unsafe { node.as_ref() }.next(Ordering::Relaxed);
        std::iter::successors(self.first(), next).take(most).count()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Takes a node out, which then names no neighbour.
    fn pop(fifo: &Fifo) -> Option<NonNull<Link>> {
        let runnable = fifo.pop()?;
        assert_eq!(runnable.link().next(Ordering::Relaxed), None);
        Some(runnable.node())
    }

    #[test]
    fn keeps_order_and_empties() {
        let links: Vec<Link> = (0..3).map(|_| Link::new()).collect();
        let fifo = Fifo::new();
        assert!(fifo.pop().is_none());
        for round in 0..2 {
            for link in &links {
                fifo.push(Runnable::bare(link));
            }
            for link in &links {
                assert_eq!(pop(&fifo), Some(NonNull::from(link)), "round {round}");
            }
            assert!(fifo.is_empty() && fifo.pop().is_none());
        }
    }

    #[test]
    fn nodes_are_counted() {
        let links: Vec<Link> = (0..3).map(|_| Link::new()).collect();
        let fifo = Fifo::new();
        for (before, link) in links.iter().enumerate() {
            assert_eq!((fifo.count(9), fifo.count(1)), (before, before.min(1)));
            fifo.push(Runnable::bare(link));
        }
        for left in [2, 1, 0] {
            let _ = pop(&fifo);
            assert_eq!(fifo.count(9), left);
        }
    }

    #[test]
    fn the_front_comes_first() {
        let links: Vec<Link> = (0..4).map(|_| Link::new()).collect();
        let fifo = Fifo::new();
        for (front, index) in [(true, 1), (false, 2), (true, 0), (false, 3)] {
            let runnable = Runnable::bare(&links[index]);
            if front {
                fifo.push_front(runnable);
            } else {
                fifo.push(runnable);
            }
        }
        for link in &links {
            assert_eq!(pop(&fifo), Some(NonNull::from(link)));
        }
        assert!(fifo.pop().is_none());
    }
}
