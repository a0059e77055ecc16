//! The cluster level: warm stacks that the cluster's processors exchange.
//!
//! Processors take and bring batches. A stack that comes here has given back its deep pages and
//! keeps its top ones, so thousands of short fibres cause no page faults. A stack that has not been
//! needed for a while goes on to the system level ([`super::pool`]).

use super::error::StackError;
use super::size::COMMON;
use super::slab::Stack;
use super::{decay, pool};

use crate::sync::thread_mutex::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The most stacks of one class: as many may keep 4 to 8 KiB each.
const CAPACITY: usize = 32 * 1024;

/// The warm stacks of one cluster.
#[derive(Debug, Default)]
pub(crate) struct ClusterCache {
    /// The shelves, by class.
    shelves: [Mutex<Shelf>; COMMON],
    /// How many stacks are here: changed under a lock, and read as a hint.
    count: AtomicUsize,
    /// When the cluster cache was last looked through for stacks that are not needed. `None`: not
    /// yet.
    looked: Mutex<Option<Instant>>,
}

/// The stacks of one class.
#[derive(Debug, Default)]
struct Shelf {
    /// The warm stacks, the youngest last.
    stacks: Vec<Stack>,
    /// The fewest stacks since the last look.
    fewest: usize,
}

impl ClusterCache {
    /// Takes at most `wanted` stacks of a class, which are appended to `stacks`.
    pub(super) fn take(&self, class: usize, wanted: usize, stacks: &mut Vec<Stack>) {
        if self.is_empty() || stacks.try_reserve(wanted).is_err() {
            return;
        }
        let mut shelf = self.shelves[class].lock();
        let left = shelf.stacks.len().saturating_sub(wanted);
        self.count
            .fetch_sub(shelf.stacks.len() - left, Ordering::Relaxed);
        stacks.extend(shelf.stacks.drain(left..));
        shelf.fewest = shelf.fewest.min(left);
    }

    /// Takes one stack of a class, for a caller that is no processor of the cluster; from the
    /// system if there is none here.
    ///
    /// # Errors
    ///
    /// [`StackError`], when none can be made.
    pub(crate) fn take_one(&self, class: usize) -> Result<Stack, StackError> {
        let mut stacks = Vec::new();
        if class < COMMON {
            self.take(class, 1, &mut stacks);
        }
        stacks.pop().map_or_else(|| pool::take_one(class), Ok)
    }

    /// Promises a stack of a class, for a caller that is no processor of the cluster.
    ///
    /// # Errors
    ///
    /// [`StackError`], when no more stacks can be made.
    pub(crate) fn promise_one(&self, class: usize) -> Result<(), StackError> {
        let more = pool::promise(class, 1).or_else(|_| {
            self.surrender(class);
            pool::promise(class, 1)
        });
        more.map(drop)
    }

    /// Takes back a promise of [`promise_one`](Self::promise_one).
    pub(crate) fn unpromise_one(class: usize) {
        pool::forgive(class, 1);
    }

    /// Sends all stacks of a class to the system, where they can be promised.
    #[cold]
    pub(super) fn surrender(&self, class: usize) {
        if class >= COMMON || self.is_empty() {
            return;
        }
        let mut shelf = self.shelves[class].lock();
        let stacks = std::mem::take(&mut shelf.stacks);
        shelf.fewest = 0;
        self.count.fetch_sub(stacks.len(), Ordering::Relaxed);
        drop(shelf);
        pool::put(class, stacks.into_iter());
    }

    /// Takes the stacks that a processor has too many of, without deep pages.
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

    /// Whether there are no stacks here. A hint.
    pub(super) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// Sends on the stacks that were not needed since the last look, if that was long enough ago.
    pub(super) fn decay(&self, now: Instant) {
        if self.is_empty() {
            return;
        }
        // The thread that holds it does what is to be done.
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
            // The oldest stacks.
            let stacks: Vec<Stack> = shelf.stacks.drain(..stale).collect();
            shelf.fewest = shelf.stacks.len();
            self.count.fetch_sub(stale, Ordering::Relaxed);
            drop(shelf);
            pool::put(class, stacks.into_iter());
        }
    }
}

impl Drop for ClusterCache {
    fn drop(&mut self) {
        for (class, shelf) in self.shelves.iter_mut().enumerate() {
            pool::put(class, shelf.get_mut().stacks.drain(..));
        }
    }
}
