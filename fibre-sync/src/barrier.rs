//! A barrier: a number of parties go on when all of them have come.
//!
//! The parties that have come stand in the wait list. Its length is their count. The last party
//! takes them all out as one chain, gives the lock back, and only then resumes them. So the barrier
//! is *cyclic*: when the first party goes on, the next round has begun. The round also no longer
//! uses the barrier: any party that returns may free it, as POSIX allows, unless another is about
//! to come.
//!
//! A party that gives up leaves the list, and so takes its arrival back. Between its deadline and
//! that moment it still counts. If the last party comes just then, the wait has succeeded, because
//! the others have gone on relying on it. The party learns this under the lock: if it counted, it
//! is no longer in the list.

use crate::faults;
use crate::wait_list::{Claimed, ListWait, Locked, WaitList};
use fibre_core::internal::{Outcome, ShortGuard, within, yield_point};
use fibre_core::sync::planted;
use fibre_core::{Limit, WaitError, WaitKind, WaitObject};
use std::cell::Cell;
use std::time::Duration;

/// Lets a number of parties go on once all of them have come; again and again.
///
/// ```
/// use fibre::sync::Barrier;
///
/// let barrier = Barrier::new(3);
/// let leaders = fibre::scope(|scope| {
///     let parties = [(); 3].map(|()| scope.spawn(|| barrier.wait().is_leader()));
///     parties.map(|party| party.join().unwrap())
/// });
/// assert_eq!(leaders.into_iter().filter(|&leads| leads).count(), 1);
/// ```
#[doc(alias("pthread_barrier_t", "latch"))]
#[derive(Debug)]
#[repr(transparent)]
pub struct Barrier {
    state: Locked<State>,
}

/// The state that the lock protects.
#[derive(Debug)]
#[repr(C)]
struct State {
    /// The parties that have come.
    waiting: WaitList,
    /// How many parties have to come; zero counts as one. The field is the second one for C
    /// libraries: see the raw barrier.
    parties: u32,
    /// How many parties have come to the present round.
    arrived: u32,
}

impl State {
    /// Claims the parties that have come, if the caller is the last one.
    fn open(&mut self) -> Option<Claimed> {
        if self.arrived + 1 < self.parties {
            return None;
        }
        self.arrived = 0;
        Some(self.waiting.claim_all(0))
    }
}

/// What a party learns when it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BarrierWaitResult {
    leader: bool,
}

impl BarrierWaitResult {
    /// Whether the caller is the one party of this round that came last.
    #[must_use]
    pub fn is_leader(self) -> bool {
        self.leader
    }
}

fibre_core::end_of_frame!(Barrier: state);

impl Barrier {
    fibre_core::const_outside_models! {
        /// A barrier for `parties` parties. A barrier for zero parties or one never blocks.
        ///
        /// # Panics
        ///
        /// If there are 2³² or more.
        #[must_use]
        pub const fn new(parties: usize) -> Self {
            assert!(parties <= u32::MAX as usize, "a barrier for 2^32 parties");
            Self {
                state: Locked::new(State {
                    parties: parties as u32,
                    arrived: 0,
                    waiting: WaitList::new(),
                }),
            }
        }
    }

    /// Waits until all parties have come. Blocks the fibre, or the thread if the caller is not a
    /// fibre. As soon as the first party returns, the barrier is ready for the next round.
    pub fn wait(&self) -> BarrierWaitResult {
        let outcome = self.wait_limited(Limit::None);
        // Without a limit it is always there.
        outcome.unwrap_or(BarrierWaitResult { leader: false })
    }

    /// If the caller is the last party, goes on and resumes the others. If not, returns `None`, and
    /// the caller does not count. Blocks nothing.
    pub fn try_wait(&self) -> Option<BarrierWaitResult> {
        let others = self.state.lock().open();
        others.map(Self::lead)
    }

    /// Like [`wait`](Self::wait), but gives up after `timeout`, or when the fibre is cancelled.
    /// Then it returns `None`, and the arrival is taken back. The last party goes on in any case.
    pub fn wait_timeout(&self, timeout: Duration) -> Option<BarrierWaitResult> {
        self.wait_limited(Limit::after(timeout))
    }

    /// Like [`wait`](Self::wait), but gives up when the [`Limit`] comes. With a time limit, the
    /// last party goes on in any case.
    ///
    /// # Errors
    ///
    /// [`WaitError`]; then the caller's arrival is taken back.
    #[inline]
    pub fn wait_within(&self, limit: impl Into<Limit>) -> Result<BarrierWaitResult, WaitError> {
        within(limit, |limit| self.wait_limited(limit))
    }

    /// How many parties have to come.
    #[must_use]
    pub fn parties(&self) -> usize {
        self.state.lock().parties as usize
    }

    /// How many parties have come to the present round.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.state.lock().arrived as usize
    }

    /// The form that all with a limit share.
    #[inline]
    pub(crate) fn wait_limited(&self, limit: Limit) -> Option<BarrierWaitResult> {
        yield_point();
        let mut others = None;
        let counted = Cell::new(true);
        let enter = |state: &mut ShortGuard<'_, State>| {
            others = state.open();
            if planted(faults::barrier::UNLOCKS_AFTER_RESUME) {
                others.take().map(Self::lead);
                return false;
            }
            state.arrived += u32::from(others.is_none());
            others.is_none()
        };
        let leave = |state: &mut ShortGuard<'_, State>, taken_back: bool| {
            state.arrived -= u32::from(taken_back);
            let taken_back = taken_back || planted(faults::barrier::COUNTED_PARTY_GIVES_UP);
            counted.set(!taken_back);
        };
        // SAFETY: the list is in `self`, which is borrowed, and nobody replaces it.
        let outcome = unsafe {
            ListWait::new(WaitObject::new(WaitKind::Barrier, self), limit).under(
                || self.state.lock(),
                |state| &raw mut state.waiting,
                enter,
                || (),
                leave,
            )
        };
        match (outcome, others) {
            (Outcome::NotParked, Some(others)) => Some(Self::lead(others)),
            _ => counted.get().then_some(BarrierWaitResult { leader: false }),
        }
    }

    /// The last party's part: resumes the others, and touches nothing of the barrier.
    fn lead(others: Claimed) -> BarrierWaitResult {
        others.resume();
        BarrierWaitResult { leader: true }
    }
}
