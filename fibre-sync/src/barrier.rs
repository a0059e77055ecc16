//! A barrier: a number of parties go on when all of them have come.
//!
//! Those that have come stand in the wait list, and its length is their count. The last one
//! takes them all out as one chain, gives the lock back, and only then resumes them; so
//! the barrier is *cyclic*: when the first of them goes on, the next round has begun. It is
//! also nobody's any more: whoever returns may free it, as POSIX has it, unless somebody is about
//! to come.
//!
//! Who gives up takes its arrival back by leaving the list. Between its deadline and that moment
//! it is still counted; if the last party comes just then, the wait has succeeded, because the others
//! have gone on relying on it. Whether it was counted is what it finds under the lock: it has
//! been taken out of the list, or it has not.

use crate::wait_list::{Claimed, Locked, Place, Spot, WaitList, wait_or_leave};
use fibre_core::sync::planted;
use fibre_core::{Awaited, Cancelled, Limit, Outcome, WaitKind, cancellation_point, yield_point};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Lets a number of parties go on once all of them have come; again and again.
///
/// ```
/// use fibre_sync::Barrier;
///
/// let barrier = Barrier::new(3);
/// let leaders = fibre_core::scope(|scope| {
///     let parties = [(); 3].map(|()| scope.spawn(|| barrier.wait().is_leader()));
///     parties.map(|party| party.join().unwrap())
/// });
/// assert_eq!(leaders.into_iter().filter(|&leads| leads).count(), 1);
/// ```
#[derive(Debug)]
pub struct Barrier {
    state: Locked<State>,
}

/// What the lock protects.
#[derive(Debug)]
struct State {
    /// How many have to come. None is as good as one.
    parties: u32,
    /// How many have come to the present round.
    arrived: u32,
    /// Those that have come.
    waiting: WaitList,
}

impl State {
    /// Claims those that have come, if the caller is the last one.
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

#[cfg(loom)]
impl fibre_core::sync::EndOfFrame for Barrier {
    fn end_of_frame(&mut self) {
        self.state.end_of_frame();
    }
}

impl Barrier {
    /// A barrier for `parties` parties. One for none or for one holds nobody up.
    ///
    /// # Panics
    ///
    /// If there are 2³² or more.
    #[cfg(loom)]
    #[must_use]
    pub fn new(parties: usize) -> Self {
        assert!(parties <= u32::MAX as usize, "a barrier for 2^32 parties");
        Self {
            state: Locked::new(State {
                parties: parties as u32,
                arrived: 0,
                waiting: WaitList::new(),
            }),
        }
    }

    /// A barrier for `parties` parties. One for none or for one holds nobody up.
    ///
    /// # Panics
    ///
    /// If there are 2³² or more.
    #[cfg(not(loom))]
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

    /// Waits until all parties have come. Blocks the fibre, or the thread if the caller is
    /// not a fibre. From when the first party returns, the barrier is ready for the next round.
    pub fn wait(&self) -> BarrierWaitResult {
        let outcome = self.wait_within(Limit::None);
        // Without a limit it is always there.
        outcome.unwrap_or(BarrierWaitResult { leader: false })
    }

    /// Goes on, and lets the others go on, if the caller is the last one; else `None`, and it has
    /// not come. Blocks nothing.
    pub fn try_wait(&self) -> Option<BarrierWaitResult> {
        let others = self.state.lock().open();
        others.map(Self::lead)
    }

    /// Like [`wait`](Self::wait), but gives up after `timeout`, or when the fibre is cancelled:
    /// `None`, and its arrival is taken back. The last party goes on in any case.
    pub fn wait_timeout(&self, timeout: Duration) -> Option<BarrierWaitResult> {
        self.wait_within(Limit::after(timeout))
    }

    /// Like [`wait_timeout`](Self::wait_timeout), with the moment at which to give up.
    pub fn wait_until(&self, deadline: Instant) -> Option<BarrierWaitResult> {
        self.wait_within(Limit::Deadline(deadline))
    }

    /// Like [`wait`](Self::wait), but ends when the fibre is cancelled. A thread cannot be.
    ///
    /// # Errors
    ///
    /// [`Cancelled`]; then the caller's arrival is taken back.
    pub fn wait_cancellable(&self) -> Result<BarrierWaitResult, Cancelled> {
        cancellation_point()?;
        self.wait_within(Limit::Cancellation).ok_or(Cancelled)
    }

    /// How many have to come.
    #[must_use]
    pub fn parties(&self) -> usize {
        self.state.lock().parties as usize
    }

    /// How many have come to the present round.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.state.lock().arrived as usize
    }

    /// The common part.
    #[inline]
    pub(crate) fn wait_within(&self, limit: Limit) -> Option<BarrierWaitResult> {
        yield_point();
        let mut others = None;
        let counted = Cell::new(true);
        let enter = |state: &mut State| {
            others = state.open();
            if planted("barrier: the lock is given back after the resume") {
                others.take().map(Self::lead);
                return false;
            }
            state.arrived += u32::from(others.is_none());
            others.is_none()
        };
        let leave = |state: &mut State, taken_back: bool| {
            state.arrived -= u32::from(taken_back);
            let taken_back = taken_back || planted("barrier: who was counted gives up");
            counted.set(!taken_back);
        };
        // SAFETY: the list is in `self`, which is borrowed, and nobody replaces it.
        let outcome = unsafe {
            wait_or_leave(
                Spot::new(Awaited::new(WaitKind::Barrier, self), Place::Last),
                &self.state,
                |state| &mut state.waiting,
                limit,
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

    /// What the last party does. Touches nothing of the barrier.
    fn lead(others: Claimed) -> BarrierWaitResult {
        others.resume();
        BarrierWaitResult { leader: true }
    }
}
