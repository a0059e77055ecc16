//! A counting semaphore for fibres.
//!
//! Permits are handed over: a release gives its permits to those that have waited
//! longest, if any, and else adds them to the count. So nobody overtakes, and a
//! permit is never both counted and handed over. Whether a waiter's deadline, its
//! cancellation, or the release wins is decided by the waiter's outcome, so no permit is lost.
//!
//! Somebody may ask for several permits at once. While it is the first one and there are too few,
//! what is released is *saved* for it, and those behind it wait, also those who ask for less: else
//! it would starve. If it gives up, what was saved goes to them.
//!
//! All this is for a list with somebody in it who asks for several; as long as there is nobody of
//! that kind, a release looks at nothing but the first one.

use crate::wait_list::{Claimed, Locked, Place, Spot, WaitList, wait, wait_or_leave};
use fibre_core::sync::planted;
use fibre_core::{Awaited, Cancelled, Limit, Outcome, WaitKind, cancellation_point, yield_point};
use std::time::{Duration, Instant};

/// A counting semaphore: `acquire` waits for a permit, `release` brings one. First
/// come, first served.
///
/// Permits belong to nobody: any fibre or thread may release, also one that has not acquired. For
/// permits that come back by themselves see [`permit`](Self::permit).
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
    /// Permits for the first one that waits, who asks for more; zero if it asks for one.
    saved: usize,
    /// How many of those that wait ask for more than one.
    many: usize,
    waiting: WaitList,
}

/// There would be more permits than can be counted, or than there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Overflow;

impl State {
    /// Without anybody who waits.
    const fn new(permits: usize) -> Self {
        Self {
            permits,
            saved: 0,
            many: 0,
            waiting: WaitList::new(),
        }
    }

    /// Takes a permit, if one is there.
    fn take(&mut self) -> bool {
        let there = self.permits > 0;
        self.permits -= usize::from(there);
        there
    }

    /// Takes so many permits, if they are there and nobody waits.
    fn take_many(&mut self, count: usize) -> bool {
        let there = self.permits >= count && (self.waiting.is_empty() || count == 0);
        if there {
            self.permits -= count;
        }
        there
    }

    /// Brings permits.
    fn bring(&mut self, count: usize, most: usize) -> Result<Claimed, Overflow> {
        let there = self.permits + self.saved;
        if count > most.saturating_sub(there) {
            return Err(Overflow);
        }
        self.saved = there + count;
        self.permits = 0;
        Ok(self.settle())
    }

    /// Gives what was saved to those that have waited longest, as far as it goes.
    fn settle(&mut self) -> Claimed {
        let mut served = Claimed::none();
        while let Some(shown) = self.waiting.first_shows() {
            let asks = shown.addr().max(1);
            if asks > self.saved {
                return served;
            }
            if self.waiting.claim_first_of_many(0, &mut served) {
                self.saved -= asks;
                self.many -= usize::from(asks > 1);
            }
        }
        self.permits += std::mem::take(&mut self.saved);
        served
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
            state: Locked::new(State::new(permits)),
        }
    }

    /// A semaphore with `permits` permits.
    #[cfg(not(loom))]
    #[must_use]
    pub const fn new(permits: usize) -> Self {
        Self {
            state: Locked::new(State::new(permits)),
        }
    }

    /// Waits for a permit and takes it. Blocks the fibre, or the thread if the caller
    /// is not a fibre.
    pub fn acquire(&self) {
        // Without a limit this cannot fail.
        self.acquire_within(Limit::None);
    }

    /// Takes a permit if one is there. Blocks nothing.
    #[must_use = "`false` means that there is no permit"]
    pub fn try_acquire(&self) -> bool {
        self.state.lock().take()
    }

    /// Like [`acquire`](Self::acquire), but gives up after `timeout`, or when the fibre is
    /// cancelled; says whether the permit is the caller's.
    #[must_use = "`false` means that there is no permit"]
    pub fn acquire_timeout(&self, timeout: Duration) -> bool {
        self.acquire_within(Limit::after(timeout))
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

    /// Waits for so many permits and takes all of them at once. Those who come later wait behind
    /// it, however little they ask for. Blocks the fibre, or the thread if the caller is not a
    /// fibre.
    ///
    /// ```
    /// let permits = fibre_sync::Semaphore::new(3);
    /// permits.acquire_many(2);
    /// assert!(!permits.try_acquire_many(2));
    /// permits.release_many(2);
    /// assert_eq!(permits.available(), 3);
    /// ```
    pub fn acquire_many(&self, count: usize) {
        // Without a limit this cannot fail.
        self.acquire_many_within(count, Limit::None);
    }

    /// Takes so many permits if they are there and nobody waits. Blocks nothing.
    #[must_use = "`false` means that none has been taken"]
    pub fn try_acquire_many(&self, count: usize) -> bool {
        self.state.lock().take_many(count)
    }

    /// Like [`acquire_many`](Self::acquire_many), but gives up after `timeout`, or when the fibre
    /// is cancelled: all or none.
    #[must_use = "`false` means that none has been taken"]
    pub fn acquire_many_timeout(&self, count: usize, timeout: Duration) -> bool {
        self.acquire_many_within(count, Limit::after(timeout))
    }

    /// Like [`acquire_many`](Self::acquire_many), but gives up at `deadline`, or when the fibre is
    /// cancelled: all or none.
    #[must_use = "`false` means that none has been taken"]
    pub fn acquire_many_until(&self, count: usize, deadline: Instant) -> bool {
        self.acquire_many_within(count, Limit::Deadline(deadline))
    }

    /// Like [`acquire_many`](Self::acquire_many), but ends when the fibre is cancelled. A thread
    /// cannot be.
    ///
    /// # Errors
    ///
    /// [`Cancelled`]; then no permit has been taken.
    pub fn acquire_many_cancellable(&self, count: usize) -> Result<(), Cancelled> {
        cancellation_point()?;
        match self.acquire_many_within(count, Limit::Cancellation) {
            true => Ok(()),
            false => Err(Cancelled),
        }
    }

    /// One permit.
    pub(crate) fn acquire_within(&self, limit: Limit) -> bool {
        yield_point();
        // SAFETY: the list is in `self`, which is borrowed, and nobody replaces it.
        let outcome = unsafe {
            wait(
                Awaited::new(WaitKind::Semaphore, self),
                &self.state,
                |state| &mut state.waiting,
                limit,
                |state| !state.take(),
                || (),
            )
        };
        matches!(outcome, Outcome::NotParked | Outcome::Woken(_))
    }

    /// Any number of permits.
    pub(crate) fn acquire_many_within(&self, count: usize, limit: Limit) -> bool {
        if count == 1 {
            return self.acquire_within(limit);
        }
        yield_point();
        let mut next = Claimed::none();
        let enter = |state: &mut State| {
            let waits = !state.take_many(count);
            if waits {
                state.many += 1;
                state.saved += std::mem::take(&mut state.permits);
            }
            waits
        };
        let leave = |state: &mut State, _: bool| {
            state.many -= 1;
            if !planted("semaphore: who gives up keeps what was saved for it") {
                next = state.settle();
            }
        };
        let asks = std::ptr::without_provenance(count);
        // SAFETY: the list is in `self`, which is borrowed, and nobody replaces it.
        let outcome = unsafe {
            wait_or_leave(
                Spot::new(
                    Awaited::new(WaitKind::Semaphore, self),
                    Place::LastShowing(asks),
                ),
                &self.state,
                |state| &mut state.waiting,
                limit,
                enter,
                || (),
                leave,
            )
        };
        next.resume();
        matches!(outcome, Outcome::NotParked | Outcome::Woken(_))
    }

    /// Brings a permit. Blocks nothing; any thread, also one that never acquired.
    ///
    /// # Panics
    ///
    /// If there are `usize::MAX` permits.
    pub fn release(&self) {
        let mut state = self.state.lock();
        if state.many > 0 {
            drop(state);
            return self.release_many(1);
        }
        let first = state.waiting.claim_first(0);
        if first.is_none() || planted("semaphore: a permit is handed over and counted") {
            match state.permits.checked_add(1) {
                Some(permits) => state.permits = permits,
                None => too_many(),
            }
        }
        if !planted("semaphore: the lock is given back after the resume") {
            drop(state);
        }
        if let Some(first) = first {
            first.resume();
        }
    }

    /// Brings so many permits, all at once. Blocks nothing; any thread.
    ///
    /// # Panics
    ///
    /// If there were more than `usize::MAX` then; none has been brought.
    pub fn release_many(&self, count: usize) {
        if self.try_release_many(count, usize::MAX).is_err() {
            too_many();
        }
    }

    /// Brings so many permits, unless more than `most` would be there that nobody has.
    pub(crate) fn try_release_many(&self, count: usize, most: usize) -> Result<(), Overflow> {
        let brought = self.state.lock().bring(count, most);
        brought.map(Claimed::resume)
    }

    /// How many permits there are at this moment that nobody has.
    #[must_use]
    pub fn available(&self) -> usize {
        let state = self.state.lock();
        state.permits + state.saved
    }
}

#[cold]
fn too_many() -> ! {
    panic!("more permits were released than a semaphore can count")
}
