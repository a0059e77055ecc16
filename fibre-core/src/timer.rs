//! Deadlines of one processor's waiting fibres.
//!
//! A binary heap of waiters with back-references, so that a wait that ends early
//! takes its entry out in O(log n), usually O(1): deadlines tend to grow, so new
//! entries stay near the end. The entry itself lies on the stack of whoever
//! waits, so arming a deadline allocates nothing once the heap has grown.
//!
//! Each processor has a heap behind a lock of its own. The lock is there for the
//! rare fibre that waits on one processor and goes on another (migration); else
//! the owner is alone with it.
//!
//! Invariant: an entry is in the heap only while its owner is inside
//! `park_until`, which takes it out, under the lock, before the frame ends. The
//! timer claims waiters under the lock and resumes them after it.

use crate::waiter::{Resume, Waiter, Wakeable};
use parking_lot::Mutex;
use std::cell::Cell;
use std::ptr::NonNull;
use std::time::Instant;

/// Where an entry stands that is in no heap.
const OUT: usize = usize::MAX;

/// A deadline of one wait, in the frame of whoever waits.
#[derive(Debug)]
pub struct Entry<F> {
    /// When it fires.
    deadline: Instant,
    /// Whom it wakes.
    waiter: NonNull<Waiter<F>>,
    /// Its place in the heap, kept under the heap's lock.
    index: Cell<usize>,
}

impl<F> Entry<F> {
    /// An entry that is in no heap yet.
    pub fn new(deadline: Instant, waiter: &Waiter<F>) -> Self {
        Self {
            deadline,
            waiter: NonNull::from(waiter),
            index: Cell::new(OUT),
        }
    }
}

/// The heap. See the module text.
#[derive(Debug)]
pub struct Timers<F> {
    /// Parents fire no later than their children.
    heap: Mutex<Vec<Slot<F>>>,
}

/// One place in the heap: the deadline is here too, so that sifting follows no
/// pointers.
#[derive(Debug)]
struct Slot<F> {
    deadline: Instant,
    entry: NonNull<Entry<F>>,
}

impl<F> Clone for Slot<F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Slot<F> {}

// SAFETY: entries are touched under the lock only, and are alive while in the heap.
unsafe impl<F> Send for Timers<F> {}
// SAFETY: as above.
unsafe impl<F> Sync for Timers<F> {}

impl<F> Default for Timers<F> {
    fn default() -> Self {
        Self {
            heap: Mutex::new(Vec::new()),
        }
    }
}

impl<F: Wakeable> Timers<F> {
    /// Puts an entry in.
    ///
    /// # Safety
    ///
    /// The entry, and its waiter, stay where they are until [`remove`](Self::remove)
    /// has been called with it.
    pub unsafe fn insert(&self, entry: &Entry<F>) {
        let mut heap = self.heap.lock();
        heap.push(Slot {
            deadline: entry.deadline,
            entry: NonNull::from(entry),
        });
        let last = heap.len() - 1;
        sift_up(&mut heap, last);
    }

    /// Takes an entry out, if it has not fired.
    pub fn remove(&self, entry: &Entry<F>) {
        let mut heap = self.heap.lock();
        if entry.index.get() != OUT {
            remove_at(&mut heap, entry.index.get());
        }
    }

    /// When the next one fires.
    pub fn next(&self) -> Option<Instant> {
        self.heap.lock().first().map(|slot| slot.deadline)
    }

    /// Fires all that are due at `now`.
    pub fn fire(&self, now: Instant) {
        while let Some(due) = self.take_due(now) {
            if let Some(resume) = due {
                resume.resume();
            }
        }
    }

    /// Takes one due entry out and claims its waiter; `None`: nothing is due.
    fn take_due(&self, now: Instant) -> Option<Option<Resume<F>>> {
        let mut heap = self.heap.lock();
        heap.first().filter(|slot| slot.deadline <= now)?;
        let slot = remove_at(&mut heap, 0);
        // SAFETY: in the heap, hence alive, with its waiter; we have the lock.
        Some(unsafe { slot.entry.as_ref().waiter.as_ref() }.time_out())
    }
}

/// Puts `slot` at `index` and tells its entry.
fn place<F>(heap: &mut [Slot<F>], index: usize, slot: Slot<F>) {
    heap[index] = slot;
    // SAFETY: entries in the heap are alive, and we have the lock.
    unsafe { slot.entry.as_ref() }.index.set(index);
}

/// Moves the slot at `index` towards the root until its parent fires no later.
fn sift_up<F>(heap: &mut [Slot<F>], mut index: usize) {
    let slot = heap[index];
    while index > 0 {
        let parent = (index - 1) / 2;
        if heap[parent].deadline <= slot.deadline {
            break;
        }
        place(heap, index, heap[parent]);
        index = parent;
    }
    place(heap, index, slot);
}

/// Moves the slot at `index` away from the root until its children fire no earlier.
fn sift_down<F>(heap: &mut [Slot<F>], mut index: usize) {
    let slot = heap[index];
    loop {
        let left = 2 * index + 1;
        let Some(mut child) = heap.get(left).map(|_| left) else {
            break;
        };
        if heap
            .get(left + 1)
            .is_some_and(|right| right.deadline < heap[left].deadline)
        {
            child = left + 1;
        }
        if slot.deadline <= heap[child].deadline {
            break;
        }
        place(heap, index, heap[child]);
        index = child;
    }
    place(heap, index, slot);
}

/// Takes the slot at `index` out.
fn remove_at<F>(heap: &mut Vec<Slot<F>>, index: usize) -> Slot<F> {
    let slot = heap.swap_remove(index);
    // SAFETY: it was in the heap, hence alive, and we have the lock.
    unsafe { slot.entry.as_ref() }.index.set(OUT);
    if index < heap.len() {
        sift_down(heap, index);
        sift_up(heap, index);
    }
    slot
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waiter::{Outcome, ThreadParker};
    use std::time::Duration;

    struct Nobody;
    impl Wakeable for Nobody {
        unsafe fn resume(_: NonNull<Self>) {}
    }

    #[test]
    fn fires_in_order_and_forgets_the_removed() {
        let timers = Timers::<Nobody>::default();
        let start = Instant::now();
        let parkers: Vec<ThreadParker> = (0..100).map(|_| ThreadParker::new()).collect();
        let waiters: Vec<_> = parkers.iter().map(Waiter::for_thread).collect();
        let entries: Vec<_> = waiters
            .iter()
            .enumerate()
            .map(|(i, waiter)| {
                Entry::new(start + Duration::from_millis((i as u64 * 37) % 100), waiter)
            })
            .collect();
        for entry in &entries {
            // SAFETY: the entries outlive the heap's use of them.
            unsafe { timers.insert(entry) };
        }
        for entry in entries.iter().step_by(3) {
            timers.remove(entry);
            timers.remove(entry);
        }
        for millisecond in 0..100 {
            let now = start + Duration::from_millis(millisecond);
            timers.fire(now);
            for (i, (entry, waiter)) in entries.iter().zip(&waiters).enumerate() {
                let due = i % 3 != 0 && entry.deadline <= now;
                assert_eq!(waiter.is_claimed(), due, "entry {i} at {millisecond} ms");
                if due {
                    assert_eq!(waiter.outcome(), Outcome::TimedOut);
                }
            }
            assert!(timers.next().is_none_or(|next| next > now));
        }
        assert!(timers.next().is_none());
    }
}
