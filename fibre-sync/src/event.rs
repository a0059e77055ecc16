//! Events: something has happened, and its waiters go on.
//!
//! An [`Event`] stays set until a caller resets it, and lets all callers pass meanwhile. The waiter
//! that an [`AutoEvent`] lets pass resets it, so each `set` releases one. They are two types, so
//! the type tells a reader what `set` does.
//!
//! Both are set under the list's lock, so a set event has no waiters. An `AutoEvent` is handed over
//! like a semaphore's permit. The waiter's outcome decides whether its deadline, its cancellation
//! or the `set` wins. So if a waiter has given up, the next one gets the event, and if none waits,
//! the event stays set.
//!
//! The setter releases the lock before it resumes a waiter, and that is its last access: the
//! resumed waiter may free the event.

use crate::faults;
use crate::selection::{ListArm, Listed, list_arm};
use crate::wait_list::{ListWait, Locked, WaitList};
use fibre_core::internal::{Outcome, within, yield_point};
use fibre_core::sync::planted;
use fibre_core::{Limit, WaitError, WaitKind, WaitObject};
use std::time::Duration;

/// The state that the lock protects, in both kinds.
#[derive(Debug, Default)]
struct State {
    /// Whether the event is set. If so, no one waits.
    set: bool,
    waiting: WaitList,
}

impl State {
    fibre_core::const_outside_models! {
        /// The state of an event that is not set and has no waiters.
        const fn new() -> Self {
            Self {
                set: false,
                waiting: WaitList::new(),
            }
        }
    }
}

/// Waits until `passes` returns `true` for the state. Returns `false` if the limit came first.
fn wait_for(state: &Locked<State>, limit: Limit, passes: fn(&mut State) -> bool) -> bool {
    yield_point();
    // SAFETY: the list is borrowed with the lock, and nobody replaces it.
    let outcome = unsafe {
        ListWait::new(WaitObject::new(WaitKind::Event, state), limit).in_list(
            state,
            |state| &mut state.waiting,
            |state| !passes(state),
        )
    };
    matches!(outcome, Outcome::NotParked | Outcome::Woken(_))
}

/// An event that, once set, lets all callers pass until it is reset. All zeros is an event that is
/// not set.
///
/// ```
/// use fibre::sync::Event;
///
/// let ready = Event::new();
/// fibre::scope(|scope| {
///     for _ in 0..3 {
///         scope.spawn(|| ready.wait());
///     }
///     ready.set();
/// });
/// assert!(ready.is_set());
/// ready.reset();
/// assert!(!ready.try_wait());
/// ```
#[doc(alias("ManualResetEvent"))]
#[derive(Debug, Default)]
pub struct Event {
    state: Locked<State>,
}

fibre_core::end_of_frame!(Event: state);

impl Event {
    fibre_core::const_outside_models! {
        /// An event that is not set.
        #[must_use]
        pub const fn new() -> Self {
            Self {
                state: Locked::new(State::new()),
            }
        }
    }

    /// Sets the event. All present waiters go on, even if it is reset at once. Blocks nothing.
    pub fn set(&self) {
        let mut state = self.state.lock();
        state.set = !planted(faults::event::CLAIMS_BEFORE_IT_IS_SET);
        let all = state.waiting.claim_all(0);
        if !planted(faults::event::UNLOCKS_AFTER_RESUME) {
            drop(state);
        }
        all.resume();
        if planted(faults::event::CLAIMS_BEFORE_IT_IS_SET) {
            self.state.lock().set = true;
        }
    }

    /// Undoes [`set`](Self::set); says whether the event was set. Blocks nothing.
    pub fn reset(&self) -> bool {
        std::mem::take(&mut self.state.lock().set)
    }

    /// Whether the event is set at this moment.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.state.lock().set
    }

    /// Waits until the event is set. Blocks the fibre, or the thread if the caller is not a
    /// fibre.
    pub fn wait(&self) {
        // Without a limit this cannot fail.
        let _ = self.wait_limited(Limit::None);
    }

    /// Whether [`wait`](Self::wait) would not block: the same as [`is_set`](Self::is_set).
    #[must_use = "`false` means that the event is not set"]
    pub fn try_wait(&self) -> bool {
        self.is_set()
    }

    /// Like [`wait`](Self::wait), but gives up after `timeout`, or when the fibre is cancelled;
    /// says whether the event was set. If it is already, this is always `true`.
    #[must_use = "`false` means that the event has not been set"]
    pub fn wait_timeout(&self, timeout: Duration) -> bool {
        self.wait_limited(Limit::after(timeout))
    }

    /// Like [`wait`](Self::wait), but gives up when the [`Limit`] comes.
    ///
    /// # Errors
    ///
    /// [`WaitError`].
    #[inline]
    pub fn wait_within(&self, limit: impl Into<Limit>) -> Result<(), WaitError> {
        within(limit, |limit| self.wait_limited(limit).then_some(()))
    }

    /// [`wait`](Self::wait) as an arm of `select!`.
    ///
    /// ```
    /// use fibre::{channel::unbounded, select, sync::Event};
    ///
    /// let (_jobs, from_jobs) = unbounded::<u32>();
    /// let stop = Event::new();
    /// fibre::scope(|scope| {
    ///     let worker = scope.spawn(|| select! {
    ///         job = from_jobs.recv_arm() => job.ok(),
    ///         () = stop.wait_arm() => None,
    ///     });
    ///     stop.set();
    ///     assert_eq!(worker.join().unwrap(), None);
    /// });
    /// ```
    pub fn wait_arm(&self) -> EventArm<'_> {
        EventArm(ListArm::new(Waits {
            state: &self.state,
            resets: false,
        }))
    }

    /// The form that all with a limit share.
    fn wait_limited(&self, limit: Limit) -> bool {
        wait_for(&self.state, limit, |state| state.set)
    }
}

/// An event that lets one caller pass each time it is set, which resets it. All zeros is an event
/// that is not set.
///
/// Setting it twice without a waiter is the same as setting it once. A
/// [`Semaphore`](crate::Semaphore) counts instead.
///
/// ```
/// use fibre::sync::AutoEvent;
///
/// let work = AutoEvent::new();
/// work.set();
/// work.set();
/// work.wait();
/// assert!(!work.try_wait());
/// ```
#[doc(alias("AutoResetEvent"))]
#[derive(Debug, Default)]
pub struct AutoEvent {
    state: Locked<State>,
}

fibre_core::end_of_frame!(AutoEvent: state);

impl AutoEvent {
    fibre_core::const_outside_models! {
        /// An event that is not set.
        #[must_use]
        pub const fn new() -> Self {
            Self {
                state: Locked::new(State::new()),
            }
        }
    }

    /// Resumes the waiter that has waited longest. If there is none, the event stays set for the
    /// next caller. Blocks nothing.
    pub fn set(&self) {
        let mut state = self.state.lock();
        let first = state.waiting.claim_first(0);
        state.set |= first.is_none() || planted(faults::event::HANDED_OVER_STAYS_SET);
        drop(state);
        if let Some(first) = first {
            first.resume();
        }
    }

    /// Undoes a [`set`](Self::set) that no waiter has taken; returns whether there was one. Blocks
    /// nothing.
    pub fn reset(&self) -> bool {
        std::mem::take(&mut self.state.lock().set)
    }

    /// Whether the event is set at this moment. Does not reset it.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.state.lock().set
    }

    /// Waits until the event is set, and resets it. Blocks the fibre, or the thread if the caller
    /// is not a fibre. First come, first served.
    pub fn wait(&self) {
        // Without a limit this cannot fail.
        let _ = self.wait_limited(Limit::None);
    }

    /// Resets the event if it is set, and says whether it was. Blocks nothing.
    #[must_use = "`false` means that the event was not set"]
    pub fn try_wait(&self) -> bool {
        self.reset()
    }

    /// Like [`wait`](Self::wait), but gives up after `timeout`, or when the fibre is cancelled;
    /// says whether the event was the caller's. A timeout of nothing, and a cancelled fibre, try
    /// once.
    #[must_use = "`false` means that the event has not been set"]
    pub fn wait_timeout(&self, timeout: Duration) -> bool {
        self.wait_limited(Limit::after(timeout))
    }

    /// Like [`wait`](Self::wait), but gives up when the [`Limit`] comes.
    ///
    /// # Errors
    ///
    /// [`WaitError`]; then the event has not been reset.
    #[inline]
    pub fn wait_within(&self, limit: impl Into<Limit>) -> Result<(), WaitError> {
        within(limit, |limit| self.wait_limited(limit).then_some(()))
    }

    /// [`wait`](Self::wait) as an arm of `select!`. If another arm is chosen, the event stays set,
    /// or lets the next caller pass.
    ///
    /// ```
    /// use fibre::{select, sync::AutoEvent};
    ///
    /// let (full, empty) = (AutoEvent::new(), AutoEvent::new());
    /// empty.set();
    /// let is_full = select! {
    ///     () = full.wait_arm() => true,
    ///     () = empty.wait_arm() => false,
    /// };
    /// assert!(!is_full && !empty.is_set());
    /// ```
    pub fn wait_arm(&self) -> EventArm<'_> {
        EventArm(ListArm::new(Waits {
            state: &self.state,
            resets: true,
        }))
    }

    /// The form that all with a limit share.
    fn wait_limited(&self, limit: Limit) -> bool {
        wait_for(&self.state, limit, |state| std::mem::take(&mut state.set))
    }
}

/// A wait for an event of either kind.
struct Waits<'a> {
    /// The event.
    state: &'a Locked<State>,
    /// Whether a caller that passes resets it.
    resets: bool,
}

impl Listed for Waits<'_> {
    type State = State;
    type Output = ();

    fn locked(&self) -> &Locked<State> {
        self.state
    }

    fn list(state: &mut State) -> &mut WaitList {
        &mut state.waiting
    }

    fn take(&self, state: &mut State) -> Option<()> {
        let set = state.set;
        state.set &= !self.resets;
        set.then_some(())
    }

    fn is_there(&self, state: &State) -> bool {
        state.set
    }

    fn handed(&self) -> Option<()> {
        Some(())
    }
}

list_arm! {
    /// An arm of `select!` that waits for an event; made by [`Event::wait_arm`] and
    /// [`AutoEvent::wait_arm`].
    EventArm<'a> ['a] over Waits<'a> => ()
}
