//! A counting semaphore for fibres.
//!
//! Permits are handed over: a release gives its permit to the one that has waited
//! longest, if any, and else adds it to the count. So nobody overtakes, and a
//! permit is never both counted and handed over. Whether a waiter's deadline, its
//! cancellation, or the release wins is decided by the waiter's outcome, so no permit is lost.

use crate::wait_list::{Locked, WaitList, wait};
use fibre_core::sync::planted;
use fibre_core::{Cancelled, Limit, Outcome, cancellation_point, yield_point};
use std::time::Instant;

/// A counting semaphore: `acquire` waits for a permit, `release` brings one. First
/// come, first served.
///
/// ```
/// let permits = fibre_sync::Semaphore::new(2);
/// permits.acquire();
/// permits.acquire();
/// assert!(!permits.try_acquire());
/// permits.release();
/// assert!(permits.try_acquire());
/// ```
#[derive(Debug, Default)]
pub struct Semaphore {
    state: Locked<State>,
}

/// What the lock protects.
#[derive(Debug, Default)]
struct State {
    /// Permits that nobody has; zero while somebody waits.
    permits: usize,
    waiting: WaitList,
}

impl State {
    /// Takes a permit, if one is there.
    fn take(&mut self) -> bool {
        let there = self.permits > 0;
        self.permits -= usize::from(there);
        there
    }
}

#[cfg(loom)]
impl fibre_core::sync::EndOfFrame for Semaphore {
    fn end_of_frame(&mut self) {
        self.state.end_of_frame();
    }
}

impl Semaphore {
    /// A semaphore with `permits` permits.
    #[cfg(loom)]
    #[must_use]
    pub fn new(permits: usize) -> Self {
        Self {
            state: Locked::new(State {
                permits,
                waiting: WaitList::new(),
            }),
        }
    }

    /// A semaphore with `permits` permits.
    #[cfg(not(loom))]
    #[must_use]
    pub const fn new(permits: usize) -> Self {
        Self {
            state: Locked::new(State {
                permits,
                waiting: WaitList::new(),
            }),
        }
    }

    /// Waits for a permit and takes it. Blocks the fibre, or the thread if the caller
    /// is not a fibre.
    pub fn acquire(&self) {
        // Without a limit this cannot fail.
        self.acquire_within(Limit::None);
    }

    /// Like [`acquire`](Self::acquire), but gives up at `deadline`, or when the fibre is
    /// cancelled; says whether the permit is the caller's. A deadline in the past, and a
    /// cancelled fibre, try once.
    #[must_use = "`false` means that there is no permit"]
    pub fn acquire_until(&self, deadline: Instant) -> bool {
        self.acquire_within(Limit::Deadline(deadline))
    }

    /// Like [`acquire`](Self::acquire), but ends when the fibre is cancelled. A thread
    /// cannot be.
    ///
    /// # Errors
    ///
    /// [`Cancelled`]; then no permit has been taken.
    pub fn acquire_cancellable(&self) -> Result<(), Cancelled> {
        cancellation_point()?;
        match self.acquire_within(Limit::Cancellation) {
            true => Ok(()),
            false => Err(Cancelled),
        }
    }

    /// Takes a permit if one is there. Blocks nothing.
    #[must_use = "`false` means that there is no permit"]
    pub fn try_acquire(&self) -> bool {
        self.state.lock().take()
    }

    /// The common part.
    fn acquire_within(&self, limit: Limit) -> bool {
        yield_point();
        // SAFETY: the list is in `self`, which is borrowed, and nobody replaces it.
        let outcome = unsafe {
            wait(
                &self.state,
                |state| &mut state.waiting,
                limit,
                |state| !state.take(),
                || (),
            )
        };
        matches!(outcome, Outcome::NotParked | Outcome::Woken(_))
    }

    /// Brings a permit. Blocks nothing; any thread, also one that never acquired.
    pub fn release(&self) {
        let mut state = self.state.lock();
        let first = state.waiting.claim_first(0);
        if first.is_none() || planted("semaphore: a permit is handed over and counted") {
            state.permits += 1;
        }
        if !planted("semaphore: the lock is given back after the resume") {
            drop(state);
        }
        if let Some(first) = first {
            first.resume();
        }
    }

    /// How many permits there are at this moment.
    #[must_use]
    pub fn available(&self) -> usize {
        self.state.lock().permits
    }
}
