//! A counting semaphore for fibres.
//!
//! Permits are handed over: a release gives its permits to the waiters that have waited longest,
//! and adds the rest to the count. So no caller overtakes, and a permit is never both counted and
//! handed over. The waiter's outcome decides whether its deadline, its cancellation or the release
//! wins, so no permit is lost.
//!
//! A caller may ask for several permits at once. While it is the first waiter and there are too
//! few, released permits are *saved* for it. The waiters behind it wait on, even if they ask for
//! fewer: otherwise it would starve. If it gives up, the saved permits go to them.
//!
//! This concerns only lists with such a waiter; without one, a release looks at the first waiter
//! only.

use crate::faults;
use crate::selection::Listed;
use crate::wait_list::{Claimed, ListWait, Locked, Place, WaitList};
use fibre_core::internal::{Outcome, ShortGuard, within, yield_point};
use fibre_core::sync::planted;
use fibre_core::{Limit, WaitError, WaitKind, WaitObject};
use std::time::Duration;

/// A counting semaphore: `acquire` waits for a permit, `release` brings one. First
/// come, first served.
///
/// Permits have no owner: any fibre or thread may release, even if it has not acquired. For permits
/// that are released automatically see [`permit`](Self::permit).
///
/// ```
/// let permits = fibre::sync::Semaphore::new(2);
/// permits.acquire();
/// permits.acquire();
/// assert!(!permits.try_acquire());
/// permits.release();
/// assert!(permits.try_acquire());
/// ```
#[doc(alias("sem_t", "sem_wait"))]
#[derive(Debug, Default)]
pub struct Semaphore {
    state: Locked<State>,
}

/// What the lock protects.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Free permits; zero while a waiter is in the list.
    permits: usize,
    /// Permits saved for the first waiter, which asks for more; zero if it asks for one.
    saved: usize,
    /// How many waiters ask for more than one permit.
    many: usize,
    waiting: WaitList,
}

/// The error of more permits than can be counted, or than there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Overflow;

impl State {
    /// The state without waiters.
    const fn new(permits: usize) -> Self {
        Self {
            permits,
            saved: 0,
            many: 0,
            waiting: WaitList::new(),
        }
    }

    /// Takes a permit, if one is free.
    fn take(&mut self) -> bool {
        let there = self.permits > 0;
        self.permits -= usize::from(there);
        there
    }

    /// Takes so many permits, if they are free and the list is empty.
    fn take_many(&mut self, count: usize) -> bool {
        let there = self.permits >= count && (self.waiting.is_empty() || count == 0);
        if there {
            self.permits -= count;
        }
        there
    }

    /// Adds permits, and claims the waiters that get them.
    fn bring(&mut self, count: usize, most: usize) -> Result<Claimed, Overflow> {
        let there = self.permits + self.saved;
        if count > most.saturating_sub(there) {
            return Err(Overflow);
        }
        self.saved = there + count;
        self.permits = 0;
        Ok(self.settle())
    }

    /// Gives the saved permits to the waiters that have waited longest, as far as they go.
    fn settle(&mut self) -> Claimed {
        let mut served = Claimed::none();
        while let Some(shown) = self.waiting.first_shows() {
            let asks = shown.addr().max(1);
            if asks > self.saved {
                return served;
            }
            let won = self.waiting.claim_first_of_many(0, &mut served);
            if won || planted(faults::semaphore::COUNTS_A_LOST_CLAIM) {
                self.saved -= asks;
                self.many -= usize::from(asks > 1);
            }
        }
        self.permits += std::mem::take(&mut self.saved);
        served
    }
}

fibre_core::end_of_frame!(Semaphore: state);

impl Semaphore {
    fibre_core::const_outside_models! {
        /// A semaphore with `permits` permits.
        #[must_use]
        pub const fn new(permits: usize) -> Self {
            Self {
                state: Locked::new(State::new(permits)),
            }
        }
    }

    /// Waits for a permit and takes it. Blocks the fibre, or the thread if the caller
    /// is not a fibre.
    pub fn acquire(&self) {
        // Without a limit this cannot fail.
        self.acquire_limited(Limit::None);
    }

    /// Takes a permit if one is free. Blocks nothing.
    #[must_use = "`false` means that there is no permit"]
    pub fn try_acquire(&self) -> bool {
        self.state.lock().take()
    }

    /// Like [`acquire`](Self::acquire), but gives up after `timeout`, or when the fibre is
    /// cancelled. Returns whether the permit is the caller's.
    #[must_use = "`false` means that there is no permit"]
    pub fn acquire_timeout(&self, timeout: Duration) -> bool {
        self.acquire_limited(Limit::after(timeout))
    }

    /// Like [`acquire`](Self::acquire), but gives up when the [`Limit`] comes.
    ///
    /// # Errors
    ///
    /// [`WaitError`]; then no permit has been taken.
    #[inline]
    pub fn acquire_within(&self, limit: impl Into<Limit>) -> Result<(), WaitError> {
        within(limit, |limit| self.acquire_limited(limit).then_some(()))
    }

    /// Waits for this many permits and takes all of them at once. Later callers wait behind it,
    /// however few they ask for. Blocks the fibre, or the thread if the caller is not a fibre.
    ///
    /// ```
    /// let permits = fibre::sync::Semaphore::new(3);
    /// permits.acquire_many(2);
    /// assert!(!permits.try_acquire_many(2));
    /// permits.release_many(2);
    /// assert_eq!(permits.available(), 3);
    /// ```
    pub fn acquire_many(&self, count: usize) {
        // Without a limit this cannot fail.
        self.acquire_many_limited(count, Limit::None);
    }

    /// Takes so many permits if they are free and no other caller waits. Blocks nothing.
    #[must_use = "`false` means that none has been taken"]
    pub fn try_acquire_many(&self, count: usize) -> bool {
        self.state.lock().take_many(count)
    }

    /// Like [`acquire_many`](Self::acquire_many), but gives up after `timeout`, or when the fibre
    /// is cancelled: all or none.
    #[must_use = "`false` means that none has been taken"]
    pub fn acquire_many_timeout(&self, count: usize, timeout: Duration) -> bool {
        self.acquire_many_limited(count, Limit::after(timeout))
    }

    /// Like [`acquire_many`](Self::acquire_many), but gives up when the [`Limit`] comes: all or
    /// none.
    ///
    /// # Errors
    ///
    /// [`WaitError`]; then no permit has been taken.
    #[inline]
    pub fn acquire_many_within(
        &self,
        count: usize,
        limit: impl Into<Limit>,
    ) -> Result<(), WaitError> {
        within(limit, |limit| {
            self.acquire_many_limited(count, limit).then_some(())
        })
    }

    /// Waits for one permit, within a limit.
    pub(crate) fn acquire_limited(&self, limit: Limit) -> bool {
        yield_point();
        // SAFETY: the list is in `self`, which is borrowed, and nobody replaces it.
        let outcome = unsafe {
            ListWait::new(WaitObject::new(WaitKind::Semaphore, self), limit).in_list(
                &self.state,
                |state| &mut state.waiting,
                |state| !state.take(),
            )
        };
        matches!(outcome, Outcome::NotParked | Outcome::Woken(_))
    }

    /// Waits for any number of permits, within a limit.
    pub(crate) fn acquire_many_limited(&self, count: usize, limit: Limit) -> bool {
        if count == 1 {
            return self.acquire_limited(limit);
        }
        yield_point();
        let mut next = Claimed::none();
        let enter = |state: &mut ShortGuard<'_, State>| {
            let waits = !state.take_many(count);
            if waits {
                state.many += 1;
                state.saved += std::mem::take(&mut state.permits);
            }
            waits
        };
        let leave = |state: &mut ShortGuard<'_, State>, _: bool| {
            state.many -= 1;
            if !planted(faults::semaphore::GIVING_UP_KEEPS_WHAT_WAS_SAVED) {
                next = state.settle();
            }
        };
        let asks = std::ptr::without_provenance(count);
        // SAFETY: the list is in `self`, which is borrowed, and nobody replaces it.
        let outcome = unsafe {
            ListWait::new(WaitObject::new(WaitKind::Semaphore, self), limit)
                .at(Place::LastShowing(asks))
                .under(
                    || self.state.lock(),
                    |state| &raw mut state.waiting,
                    enter,
                    || (),
                    leave,
                )
        };
        next.resume();
        matches!(outcome, Outcome::NotParked | Outcome::Woken(_))
    }

    /// Adds a permit. Blocks nothing. Any thread may call it, also one that never acquired.
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
        if first.is_none() || planted(faults::semaphore::HANDED_OVER_IS_COUNTED_TOO) {
            match state.permits.checked_add(1) {
                Some(permits) => state.permits = permits,
                None => too_many(),
            }
        }
        if !planted(faults::semaphore::UNLOCKS_AFTER_RESUME) {
            drop(state);
        }
        if let Some(first) = first {
            first.resume();
        }
    }

    /// Adds so many permits, all at once. Blocks nothing. Any thread may call it.
    ///
    /// # Panics
    ///
    /// If there would be more than `usize::MAX`; then none has been added.
    pub fn release_many(&self, count: usize) {
        if self.try_release_many(count, usize::MAX).is_err() {
            too_many();
        }
    }

    /// Adds so many permits, unless more than `most` would be free.
    pub(crate) fn try_release_many(&self, count: usize, most: usize) -> Result<(), Overflow> {
        let brought = self.state.lock().bring(count, most);
        brought.map(Claimed::resume)
    }

    /// How many permits are free at this moment.
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

/// A wait for so many permits, which are taken when it ends.
pub(crate) struct Acquires<'a> {
    /// The semaphore.
    pub(crate) semaphore: &'a Semaphore,
    /// How many permits.
    pub(crate) count: usize,
}

impl Listed for Acquires<'_> {
    type State = State;
    type Output = ();

    fn locked(&self) -> &Locked<State> {
        &self.semaphore.state
    }

    fn list(state: &mut State) -> &mut WaitList {
        &mut state.waiting
    }

    fn take(&self, state: &mut State) -> Option<()> {
        let taken = match self.count {
            1 => state.take(),
            count => state.take_many(count),
        };
        taken.then_some(())
    }

    fn is_there(&self, state: &State) -> bool {
        match self.count {
            0 => true,
            1 => state.permits > 0,
            count => state.permits >= count && state.waiting.is_empty(),
        }
    }

    fn handed(&self) -> Option<()> {
        Some(())
    }

    fn place(&self) -> Place {
        match self.count {
            1 => Place::Last,
            count => Place::LastShowing(std::ptr::without_provenance(count)),
        }
    }

    fn begin(&self, state: &mut State) {
        if self.count > 1 {
            state.many += 1;
            state.saved += std::mem::take(&mut state.permits);
        }
    }

    fn give_up(&self, state: &mut State) -> Claimed {
        if self.count <= 1 {
            return Claimed::none();
        }
        state.many -= 1;
        if planted(faults::semaphore::GIVING_UP_KEEPS_WHAT_WAS_SAVED) {
            return Claimed::none();
        }
        state.settle()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread;

    /// Long enough to have waited.
    const SHORT: Duration = Duration::from_millis(5);

    /// Waits until a waiter is in the list.
    fn await_waiter(semaphore: &Semaphore) {
        while semaphore.state.lock().waiting.is_empty() {
            thread::yield_now();
        }
    }

    #[test]
    fn permits_are_taken_and_brought() {
        let semaphore = Semaphore::new(6);
        semaphore.acquire_many(2);
        assert_eq!(semaphore.available(), 4);
        semaphore.acquire_many(1);
        assert!(semaphore.acquire_timeout(SHORT));
        assert!(semaphore.acquire_many_timeout(2, SHORT));
        assert_eq!(semaphore.available(), 0);
        assert!(!semaphore.acquire_timeout(SHORT) && !semaphore.try_acquire());
        assert!(!semaphore.acquire_many_timeout(2, SHORT) && !semaphore.try_acquire_many(1));
        assert!(semaphore.try_acquire_many(0) && semaphore.acquire_many_timeout(0, SHORT));
        semaphore.release_many(3);
        assert_eq!(semaphore.available(), 3);
        assert!(semaphore.acquire_within(Limit::Cancellation).is_ok());
        assert!(
            semaphore
                .acquire_many_within(2, Limit::Cancellation)
                .is_ok()
        );
        assert_eq!(semaphore.available(), 0);
    }

    #[test]
    fn there_are_no_more_than_there_may_be() {
        let semaphore = Semaphore::new(3);
        assert_eq!(semaphore.try_release_many(3, 5), Err(Overflow));
        assert_eq!(semaphore.try_release_many(2, 5), Ok(()));
        assert_eq!(semaphore.try_release_many(1, 5), Err(Overflow));
        assert_eq!(semaphore.try_release_many(0, 5), Ok(()));
        assert_eq!(semaphore.available(), 5);
        let brings_all = AssertUnwindSafe(|| semaphore.release_many(usize::MAX));
        assert!(catch_unwind(brings_all).is_err());
        assert_eq!(semaphore.available(), 5, "none has been brought");
    }

    /// Permits saved for a waiter go to no other, until it has them or gives up.
    #[test]
    fn permits_are_saved_for_the_first_one() {
        let semaphore = Semaphore::new(1);
        thread::scope(|scope| {
            scope.spawn(|| semaphore.acquire_many(3));
            await_waiter(&semaphore);
            assert_eq!(semaphore.available(), 1);
            assert!(!semaphore.try_acquire() && !semaphore.try_acquire_many(1));
            assert!(
                semaphore.try_acquire_many(0),
                "nothing can be had at any time"
            );
            semaphore.release();
            assert_eq!(semaphore.available(), 2);
            semaphore.release();
        });
        assert_eq!(semaphore.available(), 0);
        assert_eq!(semaphore.state.lock().many, 0);
        semaphore.release();
        assert!(!semaphore.acquire_many_timeout(2, SHORT));
        assert_eq!(semaphore.state.lock().many, 0);
        assert_eq!(semaphore.state.lock().permits, 1, "it is saved no more");
        assert!(semaphore.try_acquire());
    }

    /// When a waiter gives up, the permits saved for it serve the waiters behind it.
    #[test]
    fn who_gives_up_lets_others_go_on() {
        let semaphore = Semaphore::new(2);
        thread::scope(|scope| {
            let large = scope.spawn(|| semaphore.acquire_many_timeout(5, 20 * SHORT));
            await_waiter(&semaphore);
            // Callers take one or two at a time, behind the large request or after it.
            scope.spawn(|| semaphore.acquire());
            scope.spawn(|| semaphore.acquire_many(1));
            assert!(large.join().is_ok_and(|taken| !taken));
        });
        let state = semaphore.state.lock();
        assert_eq!((state.permits, state.saved, state.many), (0, 0, 0));
    }
}
