//! A first-in first-out list for one thread.
//!
//! The processor's own end of its ready queue: a fibre that yields, or that is
//! woken by a fibre of the same processor, costs two plain stores here and no
//! atomic read-modify-write.

use super::link::Link;
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

    /// Whether nothing is in the list. Any thread, for which it is a hint.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.head.load(Ordering::Relaxed).is_null()
    }

    /// The oldest node, which stays in the list.
    #[inline]
    pub fn first(&self) -> Option<NonNull<Link>> {
        NonNull::new(self.head.load(Ordering::Relaxed))
    }

    /// Appends `node`.
    ///
    /// # Safety
    ///
    /// `node` is in no queue, and stays valid and unmoved until popped.
    #[inline]
    pub unsafe fn push(&self, node: NonNull<Link>) {
        // SAFETY: the caller owns `node`.
        unsafe { node.as_ref() }.set_next(ptr::null_mut(), Ordering::Relaxed);
        match self.tail.replace(Some(node)) {
            Some(last) if !self.is_empty() => {
                // SAFETY: nodes in the list are valid by the contract of `push`.
                let last = unsafe { last.as_ref() };
                last.set_next(node.as_ptr(), Ordering::Relaxed);
            }
            _ => self.head.store(node.as_ptr(), Ordering::Relaxed),
        }
    }

    /// Puts `node` before all others.
    ///
    /// # Safety
    ///
    /// As for [`push`](Self::push).
    #[inline]
    pub unsafe fn push_front(&self, node: NonNull<Link>) {
        let first = self.first();
        self.head.store(node.as_ptr(), Ordering::Relaxed);
        if first.is_none() {
            self.tail.set(Some(node));
        }
        let next = first.map_or(ptr::null_mut(), NonNull::as_ptr);
        // SAFETY: the caller owns `node`.
        unsafe { node.as_ref() }.set_next(next, Ordering::Relaxed);
    }

    /// Takes the oldest node out.
    #[inline]
    pub fn pop(&self) -> Option<NonNull<Link>> {
        let node = self.first()?;
        // SAFETY: nodes in the list are valid by the contract of `push`.
        let next = unsafe { node.as_ref() }.next(Ordering::Relaxed);
        let next = next.map_or(ptr::null_mut(), NonNull::as_ptr);
        self.head.store(next, Ordering::Relaxed);
        Some(node)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn keeps_order_and_empties() {
        let links: Vec<Link> = (0..3).map(|_| Link::new()).collect();
        let fifo = Fifo::new();
        assert!(fifo.pop().is_none());
        for round in 0..2 {
            for link in &links {
                // SAFETY: the links outlive the list and hang nowhere else.
                unsafe { fifo.push(NonNull::from(link)) };
            }
            for link in &links {
                assert_eq!(fifo.pop(), Some(NonNull::from(link)), "round {round}");
            }
            assert!(fifo.is_empty() && fifo.pop().is_none());
        }
    }

    #[test]
    fn the_front_comes_first() {
        let links: Vec<Link> = (0..4).map(|_| Link::new()).collect();
        let fifo = Fifo::new();
        for (front, index) in [(true, 1), (false, 2), (true, 0), (false, 3)] {
            let node = NonNull::from(&links[index]);
            // SAFETY: the links outlive the list and hang nowhere else.
            unsafe {
                if front {
                    fifo.push_front(node)
                } else {
                    fifo.push(node)
                }
            };
        }
        for link in &links {
            assert_eq!(fifo.pop(), Some(NonNull::from(link)));
        }
        assert!(fifo.pop().is_none());
    }
}
