//! The locked queue: a list under a lock.
//!
//! The plain alternative to the lock-free queues, as in the thesis' comparison of runtime
//! variations (figure 4.14). Producers wait for the lock; the consumer only tries it for
//! as long as a short spin, since its holder may have lost its CPU.
//!
//! The entry holds the oldest node. A push into an empty queue and a pop change it, both
//! under the lock; arming and disarming exchange null and the mark without it.
//!
//! # Memory ordering
//!
//! Links are handed on by the lock. For the order with other words see [`Entry`]: a push
//! behind another one comes after the swap of that one, by the lock.

use crate::queue::entry::Entry;
use crate::queue::link::Link;
use crate::queue::runnable::Runnable;
use crate::queue::{Popped, Pushed};
use crate::sync::{Mutex, MutexGuard, Ordering, SPIN_LIMIT, spin_hint};
use crossbeam_utils::CachePadded;
use std::ptr::NonNull;

/// The queue under a lock.
#[derive(Debug)]
#[repr(C)]
pub(in crate::queue) struct Locked {
    /// The oldest node, if any. First, as in every kind.
    entry: CachePadded<Entry>,
    /// The youngest node.
    youngest: CachePadded<Mutex<Youngest>>,
}

/// The youngest node; meaningful while the queue is not empty.
#[derive(Debug, Default)]
struct Youngest(Option<NonNull<Link>>);

// SAFETY: a pointer to a node, which queues hand from thread to thread.
unsafe impl Send for Youngest {}

impl Locked {
    /// An empty queue.
    pub(super) fn new() -> Self {
        Self {
            entry: CachePadded::new(Entry::new()),
            youngest: CachePadded::new(Mutex::new(Youngest::default())),
        }
    }

    /// Whether it is empty, and whether its consumer sleeps.
    #[inline]
    pub(super) fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Appends a fibre. Any thread; waits for the lock.
    #[inline]
    pub(super) fn push(&self, runnable: Runnable) -> Pushed {
        runnable.link().check_unlinked();
        let node = runnable.node();
        let mut youngest = self.youngest.lock();
        let before = youngest.0.replace(node);
        match before {
            Some(before) => {
                // SAFETY: a node in the queue is valid until it is popped, for which the
                // lock is needed.
                unsafe { before.as_ref() }.set_next(node.as_ptr(), Ordering::Relaxed);
                Pushed::Quiet
            }
            None => self.entry.swap(node).1,
        }
    }

    /// Takes the oldest node out.
    ///
    /// # Safety
    ///
    /// One consumer at a time.
    #[inline]
    pub(super) unsafe fn pop(&self) -> Popped<NonNull<Link>> {
        let Some(mut youngest) = self.try_lock() else {
            return Popped::InFlight;
        };
        let Some(node) = self.entry.node() else {
            return Popped::Empty;
        };
        // SAFETY: a node in the queue is valid until it is popped.
        let link = unsafe { node.as_ref() };
        match link.next(Ordering::Relaxed) {
            Some(next) => {
                let _ = self.entry.swap(next);
            }
            None => {
                youngest.0 = None;
                self.entry.clear(node);
            }
        }
        link.unlink();
        Popped::Node(node)
    }

    /// Takes the lock, if it comes free within a short spin.
    fn try_lock(&self) -> Option<MutexGuard<'_, Youngest>> {
        (0..SPIN_LIMIT).find_map(|_| {
            let guard = self.youngest.try_lock();
            if guard.is_none() {
                spin_hint();
            }
            guard
        })
    }
}
