//! The semaphore of POSIX.
//!
//! ```text
//!   bit 63      bits 62 … 2   bit 1    bit 0
//!   DESTROYED   permits       QUEUED   LISTED
//! ```
//!
//! * **LISTED**: the list is held. This bit is a lock that is held for a few instructions.
//! * **QUEUED**: the list has waiters. Permits go to them, and newcomers wait, too.
//!
//! Signal handlers may call `sem_post`, even a handler that has interrupted the holder of this very
//! list. So a post never waits for the list. If the list is empty or held, the post adds its permit
//! with one exchange, and is done. Otherwise it takes the list, with its permit in hand. The holder
//! that releases the list sees in the same exchange which permits have been added meanwhile. It
//! takes these and hands them out first. ([`post`](Semaphore::post) describes the wake-up, which is
//! not the semaphore's.)
//!
//! Invariants:
//!
//! 1. The holder sets or clears `QUEUED` when it gives the list back. Whenever the list is not
//!    held, `QUEUED` says whether it has waiters.
//! 2. While the word is `QUEUED`, only the holder of the list takes permits. A word that is
//!    `QUEUED` and not `LISTED` has no permits.
//! 3. The last access of a post is its exchange, or, if it serves waiters, the exchange that
//!    releases the list: it resumes the claimed waiters later. Until then at least one of them is
//!    inside, so no caller can have freed the semaphore.
//!
//! # Memory ordering
//!
//! A post releases, and taking a permit acquires. `LISTED` is taken with acquire and given back
//! with release. All changes are read-modify-writes, so none hides a release from later callers.

use crate::faults;
use crate::raw::error::{Error, Result};
use crate::raw::wait::Wait;
use crate::turn::{ModelLock, Turn};
use crate::wait_list::{Claimed, ListWait, WaitList};
use fibre_core::internal::{Outcome, Resume};
use fibre_core::sync::{AtomicU64, Backoff, Ordering, planted};
use fibre_core::{Limit, WaitKind, WaitObject};
use std::cell::UnsafeCell;
use std::fmt;

/// The bits of the word, lowest first.
const LISTED: u64 = 1;
const QUEUED: u64 = 1 << 1;
const PERMIT: u64 = 1 << 2;
const DESTROYED: u64 = 1 << 63;

/// `sem_t`. See [`raw`](crate::raw). First come, first served.
///
/// ```
/// use fibre::sync::raw::{Error, Semaphore};
///
/// let permits = Semaphore::new(1)?;
/// assert_eq!(permits.try_wait(), Ok(()));
/// assert_eq!(permits.try_wait(), Err(Error::Again));
/// permits.post()?;
/// assert_eq!(permits.value(), Ok(1));
/// # Ok::<(), Error>(())
/// ```
#[repr(C)]
pub struct Semaphore {
    /// The permits and the two bits.
    word: AtomicU64,
    /// Zero, where glibc's object says whether processes share it, which C libraries ask.
    _tag: u64,
    /// The list; only its holder touches it.
    list: UnsafeCell<WaitList>,
    turn: Turn,
}

fibre_core::layout!(Semaphore: 24, 8, _tag at 8);

// SAFETY: `LISTED` gives the list to one thread at a time.
unsafe impl Sync for Semaphore {}
// SAFETY: the list may be touched by any thread that has the word to itself.
unsafe impl Send for Semaphore {}

fibre_core::end_of_frame!(Semaphore: word);

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.word.load(Ordering::Relaxed);
        f.debug_struct("Semaphore")
            .field("permits", &permits(word))
            .field("awaited", &(word & QUEUED != 0))
            .finish_non_exhaustive()
    }
}

impl Default for Semaphore {
    fn default() -> Self {
        Self::with_permits(0)
    }
}

/// How many permits a word has.
const fn permits(word: u64) -> u64 {
    (word & !DESTROYED) / PERMIT
}

impl Semaphore {
    /// The most permits there may be: `SEM_VALUE_MAX`.
    pub const MAX: u32 = i32::MAX.unsigned_abs();

    fibre_core::const_outside_models! {
        /// A semaphore with so many permits. With none it is all zeros.
        ///
        /// # Errors
        ///
        /// [`Invalid`](Error::Invalid) if that is more than [`MAX`](Self::MAX).
        pub const fn new(permits: u32) -> Result<Self> {
            match permits <= Self::MAX {
                true => Ok(Self::with_permits(permits)),
                false => Err(Error::Invalid),
            }
        }

        /// Makes a semaphore with so many permits, unchecked.
        const fn with_permits(permits: u32) -> Self {
            Self {
                word: AtomicU64::new(permits as u64 * PERMIT),
                _tag: 0,
                list: UnsafeCell::new(WaitList::new()),
                turn: Turn::new(),
            }
        }
    }

    /// Waits for a permit and takes it. Blocks the fibre, or the thread if the caller is not a
    /// fibre.
    ///
    /// # Errors
    ///
    /// [`TimedOut`](Error::TimedOut) and [`Cancelled`](Error::Cancelled) as `wait` has it;
    /// [`Invalid`](Error::Invalid) if destroyed.
    #[inline(always)]
    pub fn wait(&self, wait: Wait) -> Result {
        self.check()?;
        wait.begin()?;
        match self.take() {
            true => Ok(()),
            false => wait.run(|limit| self.wait_in_list(limit)),
        }
    }

    /// Takes a permit if one is there. Blocks nothing.
    ///
    /// # Errors
    ///
    /// [`Again`](Error::Again) if there is none, [`Invalid`](Error::Invalid) if destroyed.
    #[inline]
    pub fn try_wait(&self) -> Result {
        self.check()?;
        match self.take() {
            true => Ok(()),
            false => Err(Error::Again),
        }
    }

    /// Brings a permit. Blocks nothing; any fibre or thread.
    ///
    /// A signal handler may call it on a thread that the runtime has not started: it waits for
    /// nobody, and allocates nothing. To wake a thread it makes a system call; to wake a fibre it
    /// enters a queue without a lock (unless queues are asked to be locked ones), and makes a
    /// system call if the processor sleeps.
    ///
    /// # Errors
    ///
    /// [`Overflow`](Error::Overflow) if there are [`MAX`](Self::MAX), [`Invalid`](Error::Invalid)
    /// if destroyed.
    #[inline]
    pub fn post(&self) -> Result {
        let mut now = self.word.load(Ordering::Relaxed);
        loop {
            if now & DESTROYED != 0 {
                return Err(Error::Invalid);
            }
            if permits(now) >= Self::MAX.into() {
                return Err(Error::Overflow);
            }
            let serves = now & (QUEUED | LISTED) == QUEUED;
            let next = if serves { now | LISTED } else { now + PERMIT };
            match self.exchange(now, next, Ordering::AcqRel) {
                Ok(_) if serves => {
                    self.serve(next);
                    return Ok(());
                }
                Ok(_) => return Ok(()),
                Err(seen) => now = seen,
            }
        }
    }

    /// How many permits there are at this moment; zero while a caller waits.
    ///
    /// # Errors
    ///
    /// [`Invalid`](Error::Invalid) if destroyed.
    pub fn value(&self) -> Result<u32> {
        self.check()?;
        let permits = permits(self.word.load(Ordering::Relaxed));
        Ok(u32::try_from(permits).unwrap_or(Self::MAX))
    }

    /// Ends the use of the semaphore. Blocks nothing.
    ///
    /// # Errors
    ///
    /// [`Busy`](Error::Busy) if a caller waits, [`Invalid`](Error::Invalid) if destroyed.
    pub fn destroy(&self) -> Result {
        let mut now = self.word.load(Ordering::Relaxed);
        loop {
            if now & DESTROYED != 0 {
                return Err(Error::Invalid);
            }
            if now & (QUEUED | LISTED) != 0 {
                return Err(Error::Busy);
            }
            match self.exchange(now, DESTROYED, Ordering::AcqRel) {
                Ok(_) => return Ok(()),
                Err(seen) => now = seen,
            }
        }
    }

    /// An error if it has been destroyed.
    #[inline]
    fn check(&self) -> Result {
        match self.word.load(Ordering::Relaxed) & DESTROYED {
            0 => Ok(()),
            _ => Err(Error::Invalid),
        }
    }

    /// Takes a free permit.
    #[inline]
    fn take(&self) -> bool {
        let acquire = match planted(faults::raw_semaphore::TAKES_PERMIT_WITHOUT_ACQUIRE) {
            true => Ordering::Relaxed,
            false => Ordering::Acquire,
        };
        let mut now = self.word.load(Ordering::Relaxed);
        while permits(now) > 0 && now & QUEUED == 0 {
            match self.exchange(now, now - PERMIT, acquire) {
                Ok(_) => return true,
                Err(seen) => now = seen,
            }
        }
        false
    }

    /// Waits for a permit.
    #[inline(always)]
    fn wait_in_list(&self, limit: Limit) -> bool {
        let awaited = WaitObject::new(WaitKind::Semaphore, self).closed();
        // SAFETY: the list is in `self`, which is borrowed, and nobody replaces it.
        let outcome = unsafe {
            ListWait::new(awaited, limit).under(
                || self.list(),
                |list| list.semaphore.list.get(),
                |list| !list.semaphore.take(),
                || (),
                |_, _| (),
            )
        };
        matches!(outcome, Outcome::NotParked | Outcome::Woken(_))
    }

    /// Takes the list. Blocks the thread for the few instructions that others have it.
    #[inline]
    fn list(&self) -> ListGuard<'_> {
        let turn = self.turn.take();
        let mut backoff = Backoff::new();
        loop {
            let now = self.word.load(Ordering::Relaxed);
            if now & LISTED == 0 && self.exchange(now, now | LISTED, Ordering::Acquire).is_ok() {
                return ListGuard {
                    semaphore: self,
                    _turn: turn,
                };
            }
            backoff.wait();
        }
    }

    /// Gives a permit to the first waiter, and gives the list back. The caller has just taken the
    /// list by storing `word`.
    #[inline]
    fn serve(&self, word: u64) {
        // SAFETY: the caller has the list.
        let list = unsafe { &mut *self.list.get() };
        let mut first = list.claim_first(0);
        let in_hand = u64::from(first.is_none());
        if planted(faults::raw_semaphore::GIVES_LIST_BACK_AFTER_RESUME) {
            first.take().into_iter().for_each(Resume::resume);
        }
        let queued = if list.is_empty() { 0 } else { QUEUED };
        let next = word & !(LISTED | QUEUED) | queued;
        // Unless all waiters have given up, or permits have been added meanwhile.
        let quiet = in_hand == 0 && self.exchange(word, next, Ordering::AcqRel).is_ok();
        let others = (!quiet).then(|| self.give_back(in_hand));
        if let Some(first) = first {
            first.resume();
        }
        others.into_iter().for_each(Claimed::resume);
    }

    /// Gives the list back, with so many permits in the caller's hand, and returns the waiters that
    /// got permits.
    #[cold]
    fn give_back(&self, mut in_hand: u64) -> Claimed {
        // SAFETY: the caller has the list.
        let list = unsafe { &mut *self.list.get() };
        let mut served = Claimed::none();
        let mut now = self.word.load(Ordering::Relaxed);
        loop {
            while in_hand > 0 && !list.is_empty() {
                in_hand -= u64::from(list.claim_first_of_many(0, &mut served));
            }
            if planted(faults::raw_semaphore::GIVES_LIST_BACK_AFTER_RESUME) {
                std::mem::replace(&mut served, Claimed::none()).resume();
            }
            let there = permits(now);
            let next = if list.is_empty() {
                (now & !(LISTED | QUEUED)) + in_hand * PERMIT
            } else if there > 0 && !planted(faults::raw_semaphore::LIST_OWNER_LOOKS_FOR_NO_PERMITS)
            {
                now - there * PERMIT
            } else {
                now & !LISTED | QUEUED
            };
            match self.exchange(now, next, Ordering::AcqRel) {
                Ok(_) if next & LISTED == 0 => return served,
                Ok(_) => (now, in_hand) = (next, there),
                Err(seen) => now = seen,
            }
        }
    }

    /// Replaces the word.
    #[inline]
    fn exchange(&self, from: u64, to: u64, success: Ordering) -> std::result::Result<u64, u64> {
        self.word
            .compare_exchange(from, to, success, Ordering::Relaxed)
    }
}

/// The right to the list. Dropping it gives the list back, and resumes the waiters that there are
/// permits for.
#[must_use = "the list is given back at once"]
struct ListGuard<'a> {
    semaphore: &'a Semaphore,
    /// Given up after the list.
    _turn: ModelLock,
}

impl Drop for ListGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        let semaphore = self.semaphore;
        let now = semaphore.word.load(Ordering::Relaxed);
        // SAFETY: this guard has the list.
        let waits = unsafe { !(*semaphore.list.get()).is_empty() };
        let next = now & !LISTED | QUEUED;
        if !waits || permits(now) > 0 || semaphore.exchange(now, next, Ordering::AcqRel).is_err() {
            semaphore.give_back(0).resume();
        }
    }
}
