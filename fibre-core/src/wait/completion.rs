//! "It has happened", for one waiter: `join` and `scope` wait on it.
//!
//! One word:
//!
//! ```text
//!  PENDING ⇄ waiter with a limit ──► BUSY ──► DONE
//!     ├────► patient waiter ────────► BUSY ──►─┤
//!     ├───────────────────────────────────────►─┘
//!     └──► DETACHED                       (nobody will ever ask)
//! ```
//!
//! The finisher replaces the waiter's address in the word by `BUSY`, claims the waiter, and stores
//! `DONE`. A waiter after its deadline takes itself out. If it finds `BUSY`, it stays until `DONE`,
//! which is a few instructions away. So invariant 1 of [`crate::wait::waiter`] holds here without a
//! lock. A *patient* waiter has no limit, so only the finisher claims it, and a store is enough for
//! that. It also takes itself out when its fibre is unwound; if it finds `DONE` instead, it has
//! been claimed by then.
//!
//! # Memory ordering
//!
//! Every transition is acquire-release: `DONE` and `DETACHED` hand over what was
//! written before (the result; the wish to have it dropped). The finisher's
//! last touch of the word is the one that makes it `DONE`.

use crate::sync::{AtomicUsize, Ordering, planted, thread_yield};
use crate::wait::limit::Limit;
use crate::wait::waiter::{Waiter, Wakeable};

/// It has not happened, and nobody waits.
const PENDING: usize = 0;
/// The finisher has taken the waiter, and claims it.
const BUSY: usize = 1;
/// It has happened.
const DONE: usize = 2;
/// It has not happened, and nobody will ever ask.
const DETACHED: usize = 3;

/// A bit of a waiter's address: it has a limit, and may take itself out.
const LIMITED: usize = 4;

/// A fault: the finisher claims a patient waiter that may still take itself out.
const CLAIMS_BEFORE_BUSY: &str = "completion: a patient waiter is claimed while it can still leave";

/// Whether the word of a waiter is that of one without a limit.
fn is_patient(waiter: usize) -> bool {
    waiter & LIMITED == 0
}

/// What the finisher learns.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finished {
    /// A waiter has been woken, or a caller may ask later.
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
    #[inline]
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.0.load(Ordering::Acquire) == DONE
    }

    /// Whether nobody will ever ask.
    pub fn is_detached(&self) -> bool {
        self.0.load(Ordering::Relaxed) == DETACHED
    }

    /// Makes it happen and wakes the waiter. Called once; does not touch `self` after others can
    /// see it.
    pub fn finish<F: Wakeable>(&self) -> Finished {
        let mut word = self.0.load(Ordering::Acquire);
        loop {
            let next = match word {
                PENDING => DONE,
                DETACHED => return Finished::Unwanted,
                waiter if is_patient(waiter) && planted(CLAIMS_BEFORE_BUSY) => {
                    self.wake_patient::<F>(waiter);
                    return Finished::Published;
                }
                _ => BUSY,
            };
            let order = match planted("completion: it is published without release") {
                true => Ordering::Acquire,
                false => Ordering::AcqRel,
            };
            match self
                .0
                .compare_exchange(word, next, order, Ordering::Acquire)
            {
                Ok(_) if next == DONE => return Finished::Published,
                Ok(waiter) => {
                    match is_patient(waiter) {
                        true => self.wake_patient::<F>(waiter),
                        false => self.wake::<F>(waiter),
                    }
                    return Finished::Published;
                }
                Err(now) => word = now,
            }
        }
    }

    /// Wakes a patient waiter, whose address the word was before it became `BUSY`.
    #[inline]
    fn wake_patient<F: Wakeable>(&self, waiter: usize) {
        let waiter: *const Waiter<F> = std::ptr::with_exposed_provenance(waiter);
        // SAFETY: the waiter has no limit, is in no other place, and stays until it is resumed: it
        // has not taken itself out, and cannot any more.
        let resume = unsafe { (*waiter).claim_alone(0) };
        let fault = "completion: that of a patient waiter is published without release";
        let order = match planted(fault) {
            true => Ordering::Relaxed,
            false => Ordering::Release,
        };
        self.0.store(DONE, order);
        resume.resume();
    }

    /// Wakes a waiter with a limit, whose address the word was before it became `BUSY`.
    #[cold]
    fn wake<F: Wakeable>(&self, waiter: usize) {
        let waiter: *const Waiter<F> = std::ptr::with_exposed_provenance(waiter & !LIMITED);
        // SAFETY: the waiting side, which put it there, stays while the word is `BUSY`.
        let resume = unsafe { (*waiter).claim(0) };
        self.0.store(DONE, Ordering::Release);
        if let Some(resume) = resume {
            resume.resume();
        }
    }

    /// Hangs `waiter` here, which has no limit. `false`: it has happened already.
    ///
    /// There is one waiter at a time, and it leaves by being woken.
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

    /// One or the other, as the limit says.
    #[inline]
    #[must_use]
    pub fn publish_within<F>(&self, waiter: &Waiter<F>, limit: Limit) -> bool {
        match limit {
            Limit::None => self.publish(waiter),
            _ => self.publish_limited(waiter),
        }
    }

    /// The common part of both.
    #[inline]
    fn hang(&self, waiter: usize) -> bool {
        debug_assert!(waiter > LIMITED, "waiters are aligned");
        self.0
            .compare_exchange(PENDING, waiter, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// Takes out a waiter that has reached its limit, or a patient one that is to go. If the
    /// finisher came first, it has claimed a patient waiter by the time that this returns.
    pub fn withdraw<F>(&self, waiter: &Waiter<F>) {
        let address = (&raw const *waiter).expose_provenance();
        let there = self.0.load(Ordering::Acquire);
        let alone = there & !LIMITED == address
            && self
                .0
                .compare_exchange(there, PENDING, Ordering::AcqRel, Ordering::Acquire)
                .is_ok();
        if !alone {
            while !self.is_done() {
                thread_yield();
            }
        }
    }

    /// Says that nobody will ever ask. `false`: it has happened already, and the caller drops what
    /// was produced.
    #[must_use]
    pub fn detach(&self) -> bool {
        self.0
            .compare_exchange(PENDING, DETACHED, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::wait::no_fibre::NoFibre;
    use crate::wait::waiter::{Outcome, ThreadParker};

    /// A waiter that has reached its limit goes without waiting for the end, and may come back.
    #[test]
    fn who_is_tired_of_waiting_leaves_nothing_behind() {
        let (completion, parker) = (Completion::new(), ThreadParker::new());
        for _ in 0..3 {
            // SAFETY: the parker outlives the wait.
            let waiter = unsafe { Waiter::<NoFibre>::for_thread(&parker) };
            assert!(completion.publish_limited(&waiter));
            completion.withdraw(&waiter);
            assert!(!completion.is_done() && !waiter.is_claimed());
        }
        // SAFETY: the same.
        let waiter = unsafe { Waiter::<NoFibre>::for_thread(&parker) };
        assert!(completion.publish_limited(&waiter));
        assert_eq!(completion.finish::<NoFibre>(), Finished::Published);
        assert!(completion.is_done());
        assert_eq!(waiter.outcome(), Outcome::Woken(0));
        parker.park();
        // The limit came too late, which the waiter finds out without waiting.
        completion.withdraw(&waiter);
        assert!(!completion.publish_limited(&waiter) && !completion.detach());
    }
}
