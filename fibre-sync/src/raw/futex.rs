//! Words that fibres wait at, by their addresses, as threads do in the kernel (`futex`).
//!
//! A table has buckets with a list of waiters each, and every address belongs to one bucket. A
//! waiter shows its address, so a wake takes only waiters of the same address. Waiting allocates
//! nothing.
//!
//! Invariants:
//!
//! 1. A waiter enters its list, and looks at the word, under the lock of one bucket. A waker has
//!    changed the word before it takes the same lock. So either the waiter sees the change and does
//!    not wait, or the waker finds the waiter.
//! 2. A wake for one takes one: a fibre, or a thread that waits in the kernel for the same word.
//!    Fibres come first, as taking one needs no system call. But every [`TURN`]th time a thread
//!    comes first, so that fibres do not starve threads.
//!
//! # Memory ordering
//!
//! The lock of the bucket orders the waker's change of the word before the waiter's look, and what
//! the waker did before the return of the waiter that it has taken.

use crate::faults;
use crate::raw::error::{Error, Result};
use crate::raw::wait::Wait;
use crate::wait_list::{Claimed, ListWait, Locked, Place, WaitList};
use fibre_core::internal::Outcome;
use fibre_core::sync::planted;
use fibre_core::{WaitKind, WaitObject};
use std::fmt;
use std::ptr;

/// The number of buckets: in models one, so that all addresses meet there.
const BUCKETS: usize = fibre_core::const_or!(1024, 1);

/// How often fibres come first in a row, and one.
const TURN: u8 = 16;

/// The lists of all words.
///
/// ```
/// use fibre::sync::raw::{Error, FutexTable, Wait};
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// static TABLE: FutexTable = FutexTable::new();
/// static WORD: AtomicU32 = AtomicU32::new(0);
///
/// let fibre = fibre::spawn(|| {
///     while WORD.load(Ordering::Acquire) == 0 {
///         let is_zero = || WORD.load(Ordering::Relaxed) == 0;
///         let waited = TABLE.wait(WORD.as_ptr().addr(), Wait::FOREVER, is_zero);
///         assert!(matches!(waited, Ok(()) | Err(Error::Again)));
///     }
/// });
/// WORD.store(1, Ordering::Release);
/// TABLE.wake(WORD.as_ptr().addr(), 1, |_| 0);
/// fibre.join().unwrap();
/// ```
pub struct FutexTable {
    /// The lists.
    buckets: [Bucket; BUCKETS],
}

/// A list of waiters, and what goes with it.
type Bucket = Locked<Queue>;

/// See [`Bucket`].
struct Queue {
    /// The waiters for all of the bucket's addresses.
    waiters: WaitList,
    /// How many wakes have found waiters here, modulo [`TURN`].
    wakes: u8,
}

impl fmt::Debug for FutexTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FutexTable").finish_non_exhaustive()
    }
}

impl Queue {
    /// A list without waiters.
    const fn new() -> Self {
        Self {
            waiters: WaitList::new(),
            wakes: 0,
        }
    }

    /// Whether it is a thread's turn.
    fn is_turn_of_threads(&mut self) -> bool {
        self.wakes = (self.wakes + 1) % TURN;
        self.wakes == 0
    }

    /// Takes out those that have waited longest for an address.
    fn claim(&mut self, address: usize, most: usize) -> Claimed {
        let shown = ptr::without_provenance(address);
        if planted(faults::futex::WAKES_WHOEVER_IS_FIRST) {
            let mut claimed = Claimed::none();
            self.waiters.claim_first_of_many(0, &mut claimed);
            return claimed;
        }
        self.waiters.claim_showing(shown, 0, most)
    }
}

impl Default for FutexTable {
    fn default() -> Self {
        Self::new()
    }
}

impl FutexTable {
    fibre_core::const_outside_models! {
        /// A table without waiters.
        #[must_use]
        pub const fn new() -> Self {
            Self {
                buckets: fibre_core::const_or!(
                    [const { Bucket::new(Queue::new()) }; BUCKETS],
                    std::array::from_fn(|_| Bucket::new(Queue::new()))
                ),
            }
        }
    }

    /// The bucket of an address.
    fn bucket(&self, address: usize) -> &Bucket {
        // The golden ratio's digits spread neighbours; words lie at multiples of four.
        let mixed = (address >> 2).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize);
        &self.buckets[(mixed >> 32) % BUCKETS]
    }

    /// Waits for a wake at this address, unless `is_expected` says that the word there has changed.
    /// It is called under a lock, so it only looks. Blocks the fibre, or the thread if the caller
    /// is not a fibre. The end of a [`timeout`](fibre_core::timeout()) around the call is not
    /// noticed.
    ///
    /// # Errors
    ///
    /// [`Again`](Error::Again) if the word is another one by now, and
    /// [`TimedOut`](Error::TimedOut) and [`Cancelled`](Error::Cancelled) as `wait` has it.
    pub fn wait(&self, address: usize, wait: Wait, is_expected: impl FnOnce() -> bool) -> Result {
        let bucket = self.bucket(address);
        let mut is_expected = Some(is_expected);
        let mut look = move || is_expected.take().is_none_or(|look| look());
        let early = planted(faults::futex::LOOKS_BEFORE_IT_ENTERS).then(&mut look);
        let shown: *const () = ptr::without_provenance(address);
        let awaited = WaitObject::new(WaitKind::Other, shown).closed();
        let mut has_changed = false;
        let waited = wait.run(|limit| {
            let enter = |_: &mut Queue| {
                has_changed = !early.unwrap_or_else(&mut look);
                !has_changed
            };
            let wait = ListWait::new(awaited, limit).at(Place::LastShowing(shown));
            // SAFETY: the list stays in its bucket, and `wake` resumes all waiters that it claims.
            let outcome = unsafe { wait.in_list(bucket, |queue| &mut queue.waiters, enter) };
            matches!(outcome, Outcome::Woken(_) | Outcome::NotParked)
        });
        match has_changed {
            true => Err(Error::Again),
            false => waited,
        }
    }

    /// Wakes up to `most` waiters of this address: fibres of this table, and threads through
    /// `wake_threads`, which gets the number to wake, and returns how many it has woken. Returns
    /// how many were woken. Blocks nothing; any fibre or thread.
    ///
    /// The word may be gone by now: only its address is used.
    pub fn wake(&self, address: usize, most: u32, wake_threads: impl Fn(u32) -> u32) -> u32 {
        let bucket = self.bucket(address);
        let mut queue = bucket.lock();
        if queue.waiters.is_empty() {
            drop(queue);
            return wake_threads(most);
        }
        if most == 1 && queue.is_turn_of_threads() {
            drop(queue);
            if wake_threads(1) > 0 {
                return 1;
            }
            queue = bucket.lock();
        }
        let fibres = queue.claim(address, most as usize);
        drop(queue);
        // No more than were asked for.
        let woken = fibres.len() as u32;
        fibres.resume();
        if woken < most {
            woken.saturating_add(wake_threads(most - woken))
        } else {
            woken
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Instant;

    #[test]
    fn a_wait_ends_by_a_change_or_by_time() {
        let table = FutexTable::new();
        assert_eq!(table.wait(4, Wait::FOREVER, || false), Err(Error::Again));
        let past = Wait::until(Instant::now());
        assert_eq!(table.wait(4, past, || true), Err(Error::TimedOut));
        assert_eq!(table.wake(4, u32::MAX, |most| most), u32::MAX);
    }

    /// Threads that wait in the kernel get their turn, however many fibres wait.
    #[test]
    fn fibres_keep_no_thread_from_its_turn() {
        static TABLE: FutexTable = FutexTable::new();
        static WAITING: AtomicU32 = AtomicU32::new(0);
        const NUMBER: u32 = 3 * TURN as u32;
        let wait = || {
            let enters = || WAITING.fetch_add(1, Ordering::AcqRel) < u32::MAX;
            TABLE.wait(8, Wait::FOREVER, enters).unwrap();
        };
        let threads: Vec<_> = (0..NUMBER).map(|_| std::thread::spawn(wait)).collect();
        while WAITING.load(Ordering::Acquire) < NUMBER {
            std::thread::yield_now();
        }
        let asked = Cell::new(0);
        let mut woken = 0;
        while woken < NUMBER {
            let before = asked.get();
            let ask = |most: u32| {
                assert_eq!(most, 1);
                asked.set(asked.get() + 1);
                1
            };
            assert_eq!(TABLE.wake(8, 1, ask), 1);
            woken += u32::from(asked.get() == before);
        }
        assert_eq!(asked.get(), NUMBER / (u32::from(TURN) - 1));
        threads.into_iter().for_each(|one| one.join().unwrap());
    }

    /// A wake for many takes fibres and threads.
    #[test]
    fn a_wake_for_many_counts_both() {
        let table = FutexTable::new();
        assert_eq!(table.wake(12, 5, |most| most.min(2)), 2);
        assert_eq!(table.wake(12, 0, |most| most), 0);
    }
}
