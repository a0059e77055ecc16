//! Notifications without a mutex, like tokio's `Notify`.
//!
//! `notify_one` wakes the waiter that has waited longest, or leaves one permit for the next caller.
//! `notify_waiters` wakes all present waiters and leaves nothing. That alone would not help a
//! caller that first checks a condition and then waits: a notification in between would be lost. So
//! a wait may begin before it blocks: [`Notify::notified`] takes the number of broadcasts so far,
//! and a wait from there passes if there has been another one.
//!
//! The notifier releases the lock before it resumes a waiter, and that is its last access: the
//! resumed waiter may free the object.

use crate::faults;
use crate::selection::{ListArm, Listed, list_arm};
use crate::wait_list::{ListWait, Locked, WaitList};
use fibre_core::internal::{Outcome, within, yield_point};
use fibre_core::sync::planted;
use fibre_core::{Limit, WaitError, WaitKind, WaitObject};
use std::time::Duration;

/// Wakes one waiter or all; one notification is kept for a late caller. All zeros is a new object.
///
/// ```
/// use fibre::sync::Notify;
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// let (closed, changed) = (AtomicBool::new(false), Notify::new());
/// fibre::scope(|scope| {
///     scope.spawn(|| loop {
///         let notified = changed.notified();
///         if closed.load(Ordering::Acquire) {
///             break;
///         }
///         notified.wait();
///     });
///     closed.store(true, Ordering::Release);
///     changed.notify_waiters();
/// });
/// ```
#[derive(Debug, Default)]
pub struct Notify {
    state: Locked<State>,
}

/// The state that the lock protects.
#[derive(Debug, Default)]
struct State {
    /// Whether a notification is kept. If so, no one waits.
    permit: bool,
    /// How often all waiters were notified, wrapping around.
    broadcasts: usize,
    waiting: WaitList,
}

impl State {
    /// Whether a caller that has seen so many broadcasts need not wait. Takes the permit only if
    /// there was no broadcast.
    fn passes(&mut self, seen: usize) -> bool {
        self.broadcasts != seen || std::mem::take(&mut self.permit)
    }
}

fibre_core::end_of_frame!(Notify: state);

impl Notify {
    fibre_core::const_outside_models! {
        /// An object without waiters and without a kept notification.
        #[must_use]
        pub const fn new() -> Self {
            Self {
                state: Locked::new(State {
                    permit: false,
                    broadcasts: 0,
                    waiting: WaitList::new(),
                }),
            }
        }
    }

    /// Wakes the waiter that has waited longest. If there is none, the next caller that waits
    /// passes. At most one notification is kept. Blocks nothing.
    pub fn notify_one(&self) {
        let mut state = self.state.lock();
        let first = state.waiting.claim_first(0);
        state.permit |= first.is_none() || planted(faults::notify::WAKES_ONE_AND_KEEPS_ONE);
        drop(state);
        if let Some(first) = first {
            first.resume();
        }
    }

    /// Wakes all present waiters, and lets callers with an earlier [`Notified`] pass. Keeps nothing
    /// for others. Blocks nothing.
    pub fn notify_waiters(&self) {
        let mut state = self.state.lock();
        if !planted(faults::notify::BROADCAST_IS_NOT_COUNTED) {
            state.broadcasts = state.broadcasts.wrapping_add(1);
        }
        let all = state.waiting.claim_all(0);
        if !planted(faults::notify::UNLOCKS_AFTER_BROADCAST) {
            drop(state);
        }
        all.resume();
    }

    /// Begins a wait, which will not miss a [`notify_waiters`](Self::notify_waiters) from here on.
    pub fn notified(&self) -> Notified<'_> {
        Notified {
            notify: self,
            seen: self.state.lock().broadcasts,
        }
    }

    /// Waits for a notification. Blocks the fibre, or the thread if the caller is not a fibre.
    pub fn wait(&self) {
        self.notified().wait();
    }

    /// [`wait`](Self::wait) as an arm of `select!`. It begins with this call, see
    /// [`notified`](Self::notified).
    ///
    /// ```
    /// use fibre::{select, sync::Notify};
    /// use std::time::Duration;
    ///
    /// let changed = Notify::new();
    /// changed.notify_one();
    /// let notified = select! {
    ///     () = changed.wait_arm() => true,
    ///     default(Duration::from_secs(10)) => false,
    /// };
    /// assert!(notified);
    /// ```
    pub fn wait_arm(&self) -> NotifiedArm<'_> {
        self.notified().wait_arm()
    }

    /// Takes the kept notification, if there is one. Blocks nothing.
    #[must_use = "`false` means that no notification was kept"]
    pub fn try_wait(&self) -> bool {
        std::mem::take(&mut self.state.lock().permit)
    }

    /// Like [`wait`](Self::wait), but gives up after `timeout`, or when the fibre is cancelled;
    /// says whether a notification came. A timeout of nothing, and a cancelled fibre, take a
    /// kept one.
    #[must_use = "`false` means that no notification came"]
    pub fn wait_timeout(&self, timeout: Duration) -> bool {
        self.notified().wait_timeout(timeout)
    }

    /// Like [`wait`](Self::wait), but gives up when the [`Limit`] comes.
    ///
    /// # Errors
    ///
    /// [`WaitError`]; then no notification has been consumed.
    #[inline]
    pub fn wait_within(&self, limit: impl Into<Limit>) -> Result<(), WaitError> {
        self.notified().wait_within(limit)
    }
}

/// A wait that has begun and does not block yet; see [`Notify::notified`].
///
/// Dropping it loses nothing: it does not hold the notification of [`Notify::notify_one`].
#[must_use = "it does not wait by itself"]
#[derive(Debug)]
pub struct Notified<'a> {
    notify: &'a Notify,
    /// How many broadcasts there had been.
    seen: usize,
}

impl<'a> Notified<'a> {
    /// Waits for a notification. Blocks the fibre, or the thread if the caller is not a fibre.
    pub fn wait(self) {
        // Without a limit this cannot fail.
        self.wait_limited(Limit::None);
    }

    /// Whether a notification has come. Takes it if it was for one waiter. Blocks nothing.
    #[must_use = "`false` means that no notification has come"]
    pub fn try_wait(self) -> bool {
        self.notify.state.lock().passes(self.seen)
    }

    /// Like [`wait`](Self::wait), but gives up after `timeout`, or when the fibre is cancelled;
    /// says whether a notification came.
    #[must_use = "`false` means that no notification came"]
    pub fn wait_timeout(self, timeout: Duration) -> bool {
        self.wait_limited(Limit::after(timeout))
    }

    /// Like [`wait`](Self::wait), but gives up when the [`Limit`] comes.
    ///
    /// # Errors
    ///
    /// [`WaitError`]; then no notification has been consumed.
    #[inline]
    pub fn wait_within(self, limit: impl Into<Limit>) -> Result<(), WaitError> {
        within(limit, |limit| self.wait_limited(limit).then_some(()))
    }

    /// [`wait`](Self::wait) as an arm of `select!`. If another arm is chosen, a notification goes
    /// to the next waiter, or is kept.
    pub fn wait_arm(self) -> NotifiedArm<'a> {
        NotifiedArm(ListArm::new(Waits(self)))
    }

    /// The form that all with a limit share.
    fn wait_limited(self, limit: Limit) -> bool {
        yield_point();
        // SAFETY: the list is in the notify, which is borrowed, and nobody replaces it.
        let outcome = unsafe {
            ListWait::new(WaitObject::new(WaitKind::Notify, self.notify), limit).in_list(
                &self.notify.state,
                |state| &mut state.waiting,
                |state| !state.passes(self.seen),
            )
        };
        matches!(outcome, Outcome::NotParked | Outcome::Woken(_))
    }
}

/// A wait that has begun.
struct Waits<'a>(Notified<'a>);

impl Listed for Waits<'_> {
    type State = State;
    type Output = ();

    fn locked(&self) -> &Locked<State> {
        &self.0.notify.state
    }

    fn list(state: &mut State) -> &mut WaitList {
        &mut state.waiting
    }

    fn take(&self, state: &mut State) -> Option<()> {
        state.passes(self.0.seen).then_some(())
    }

    fn is_there(&self, state: &State) -> bool {
        state.permit || state.broadcasts != self.0.seen
    }

    fn handed(&self) -> Option<()> {
        Some(())
    }
}

list_arm! {
    /// An arm of `select!` that waits for a notification; made by [`Notify::wait_arm`] and
    /// [`Notified::wait_arm`].
    NotifiedArm<'a> ['a] over Waits<'a> => ()
}
