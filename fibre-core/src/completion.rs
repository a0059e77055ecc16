//! "It has happened", for one waiter: what `join` and `scope` wait on.
//!
//! One word:
//!
//! ```text
//!  PENDING ⇄ waiter with a limit ──► BUSY ──► DONE
//!     ├────► patient waiter ──────────────────►─┤
//!     ├───────────────────────────────────────►─┘
//!     └──► DETACHED                       (nobody will ever ask)
//! ```
//!
//! The finisher takes the address of a waiter with a limit out of the word by `BUSY`,
//! claims it, and stores `DONE`; a waiter whose deadline has passed takes itself out, or,
//! if it finds `BUSY`, stays until `DONE`, which is a few instructions away. That is
//! how invariant 1 of [`crate::waiter`] holds here without a lock. A *patient* waiter has
//! no limit and stays, so nobody but the finisher changes the word any more, or claims the
//! waiter: stores will do.
//!
//! # Memory ordering
//!
//! Every transition is acquire-release: `DONE` and `DETACHED` hand over what was
//! written before (the result; the wish to have it dropped). The finisher's
//! last touch of the word is the one that makes it `DONE`.

use crate::sync::{AtomicUsize, Ordering, thread_yield};
use crate::waiter::{Waiter, Wakeable};

/// It has not happened, and nobody waits.
const PENDING: usize = 0;
/// The finisher is talking to the waiter.
const BUSY: usize = 1;
/// It has happened.
const DONE: usize = 2;
/// It has not happened, and nobody will ever ask.
const DETACHED: usize = 3;

/// In a waiter's address: it has a limit, and may take itself out.
const LIMITED: usize = 4;

/// What the finisher finds out.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finished {
    /// Somebody has been woken, or may ask later.
    Published,
    /// Nobody will ever ask: what was produced is the finisher's to drop.
    Unwanted,
}

/// The word. See the module text.
#[derive(Debug)]
pub struct Completion(AtomicUsize);

impl Default for Completion {
    fn default() -> Self {
        Self::new()
    }
}

impl Completion {
    /// It has not happened yet.
    #[must_use]
    pub fn new() -> Self {
        Self(AtomicUsize::new(PENDING))
    }

    /// Whether it has happened.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.0.load(Ordering::Acquire) == DONE
    }

    /// Makes it happen and wakes who waits. Once; does not touch `self` after
    /// others can see it.
    pub fn finish<F: Wakeable>(&self) -> Finished {
        let mut word = self.0.load(Ordering::Acquire);
        loop {
            let next = match word {
                PENDING => DONE,
                DETACHED => return Finished::Unwanted,
                waiter if waiter & LIMITED != 0 => BUSY,
                waiter => {
                    self.wake_patient::<F>(waiter);
                    return Finished::Published;
                }
            };
            match self
                .0
                .compare_exchange(word, next, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) if next == DONE => return Finished::Published,
                Ok(waiter) => {
                    self.wake::<F>(waiter);
                    return Finished::Published;
                }
                Err(now) => word = now,
            }
        }
    }

    /// The word is the address of a patient waiter.
    #[inline]
    fn wake_patient<F: Wakeable>(&self, waiter: usize) {
        let waiter: *const Waiter<F> = std::ptr::with_exposed_provenance(waiter);
        // SAFETY: it has no limit, is in no other place, and stays until it is resumed.
        let resume = unsafe { (*waiter).claim_alone(0) };
        self.0.store(DONE, Ordering::Release);
        resume.resume();
    }

    /// The word is `BUSY`, and was the address of a waiter with a limit.
    #[cold]
    fn wake<F: Wakeable>(&self, waiter: usize) {
        let waiter: *const Waiter<F> = std::ptr::with_exposed_provenance(waiter & !LIMITED);
        // SAFETY: whoever put it there stays while the word is `BUSY`.
        let resume = unsafe { (*waiter).claim(0) };
        self.0.store(DONE, Ordering::Release);
        if let Some(resume) = resume {
            resume.resume();
        }
    }

    /// Hangs `waiter` here, which has no limit. `false`: it has happened already.
    ///
    /// One waiter at a time, which leaves by being woken.
    #[inline]
    #[must_use]
    pub fn publish<F>(&self, waiter: &Waiter<F>) -> bool {
        self.hang((&raw const *waiter).expose_provenance())
    }

    /// [`publish`](Self::publish) for a waiter with a limit, which leaves by being woken or
    /// by [`withdraw`](Self::withdraw).
    #[must_use]
    pub fn publish_limited<F>(&self, waiter: &Waiter<F>) -> bool {
        self.hang((&raw const *waiter).expose_provenance() | LIMITED)
    }

    /// The common part.
    #[inline]
    fn hang(&self, waiter: usize) -> bool {
        debug_assert!(waiter > LIMITED, "waiters are aligned");
        self.0
            .compare_exchange(PENDING, waiter, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// Takes a waiter with a limit out again that has reached it.
    pub fn withdraw<F>(&self, waiter: &Waiter<F>) {
        let address = (&raw const *waiter).expose_provenance() | LIMITED;
        let alone = self
            .0
            .compare_exchange(address, PENDING, Ordering::AcqRel, Ordering::Acquire);
        if alone.is_err() {
            while !self.is_done() {
                thread_yield();
            }
        }
    }

    /// Says that nobody will ever ask. `false`: it has happened already, and what
    /// was produced is the caller's to drop.
    #[must_use]
    pub fn detach(&self) -> bool {
        self.0
            .compare_exchange(PENDING, DETACHED, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}
