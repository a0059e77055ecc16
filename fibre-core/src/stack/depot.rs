//! The cluster level: warm stacks that the cluster's processors exchange.
//!
//! A processor takes and brings batches. What comes here has given back its deep pages and
//! keeps its top ones, so that fibres which come and go by the thousand fault in nothing; what
//! has not been needed for a while goes on to the system level ([`super::pool`]).

use super::error::StackError;
use super::size::COMMON;
use super::slab::Stack;
use super::{decay, pool};

use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The most stacks of one class: as many may keep 4 to 8 KiB each.
const CAPACITY: usize = 32 * 1024;

/// See the module text.
#[derive(Debug, Default)]
pub struct Depot {
    /// By class.
    shelves: [Mutex<Shelf>; COMMON],
    /// How many stacks are here: changed under a lock, and read as a hint.
    count: AtomicUsize,
    /// When was last looked for what nobody needs. `None`: not yet.
    looked: Mutex<Option<Instant>>,
}

/// The stacks of one class.
#[derive(Debug, Default)]
struct Shelf {
    /// Warm; the youngest last.
    stacks: Vec<Stack>,
    /// The fewest since the last look.
    fewest: usize,
}

impl Depot {
    /// Takes at most `wanted` stacks of a class, which are appended to `stacks`.
    pub(super) fn take(&self, class: usize, wanted: usize, stacks: &mut Vec<Stack>) {
        if self.is_empty() {
            return;
        }
        let mut shelf = self.shelves[class].lock();
        let left = shelf.stacks.len().saturating_sub(wanted);
        self.count
            .fetch_sub(shelf.stacks.len() - left, Ordering::Relaxed);
        stacks.extend(shelf.stacks.drain(left..));
        shelf.fewest = shelf.fewest.min(left);
    }

    /// Takes one stack of a class, for somebody who is none of the processors; from the system if
    /// there is none here.
    ///
    /// # Errors
    ///
    /// [`StackError`], when none can be made.
    pub fn take_one(&self, class: usize) -> Result<Stack, StackError> {
        let mut stacks = Vec::new();
        if class < COMMON {
            self.take(class, 1, &mut stacks);
        }
        stacks.pop().map_or_else(|| pool::take_one(class), Ok)
    }

    /// Takes what a processor has too much of, without deep pages.
    pub(super) fn put(&self, class: usize, mut stacks: impl ExactSizeIterator<Item = Stack>) {
        let mut shelf = self.shelves[class].lock();
        let room = CAPACITY.saturating_sub(shelf.stacks.len());
        let before = shelf.stacks.len();
        shelf.stacks.extend(stacks.by_ref().take(room));
        self.count
            .fetch_add(shelf.stacks.len() - before, Ordering::Relaxed);
        drop(shelf);
        pool::put(class, stacks);
    }

    /// Whether nothing is here. A hint.
    pub(super) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// Sends on what nobody has needed since the last look, if that was long enough ago.
    pub(super) fn decay(&self, now: Instant) {
        if self.is_empty() {
            return;
        }
        // Whoever holds it does what is to be done.
        let Some(mut looked) = self.looked.try_lock() else {
            return;
        };
        if looked.is_some_and(|last| now < last + decay::INTERVAL) {
            return;
        }
        *looked = Some(now);
        for (class, shelf) in self.shelves.iter().enumerate() {
            let mut shelf = shelf.lock();
            let stale = decay::stale(shelf.fewest);
            // The oldest.
            let stacks: Vec<Stack> = shelf.stacks.drain(..stale).collect();
            shelf.fewest = shelf.stacks.len();
            self.count.fetch_sub(stale, Ordering::Relaxed);
            drop(shelf);
            pool::put(class, stacks.into_iter());
        }
    }
}

impl Drop for Depot {
    fn drop(&mut self) {
        for (class, shelf) in self.shelves.iter_mut().enumerate() {
            pool::put(class, shelf.get_mut().stacks.drain(..));
        }
    }
}
