//! How the receivers of [`watch`](super::watch()) and [`broadcast`](super::broadcast()) wait for
//! what is new.
//!
//! A sender's news concerns all receivers, and each has its own place in the sequence. So a sender
//! wakes all waiting receivers, and each of them looks for itself.

use super::errors::RecvTimeoutError;
use crate::wait_list::{ListWait, Locked, WaitList};
use fibre_core::internal::Outcome;
use fibre_core::sync::{AtomicUsize, Ordering};
use fibre_core::{Limit, WaitKind, WaitObject};

/// What the lock of such a channel protects, as far as waiting goes.
pub(super) trait News {
    /// The receivers that wait.
    fn waiting(&mut self) -> &mut WaitList;
    /// Whether nobody can send any more.
    fn is_closed(&self) -> bool;
    /// Says that nobody can.
    fn close(&mut self);
}

/// Takes leave of a sender. The last one closes the channel, and resumes all receivers that wait.
pub(super) fn leave<S: News>(senders: &AtomicUsize, state: &Locked<S>) {
    if senders.fetch_sub(1, Ordering::AcqRel) == 1 {
        let mut state = state.lock();
        state.close();
        let waiting = state.waiting().claim_all(0);
        drop(state);
        waiting.resume();
    }
}

/// Waits until `look`, under the lock, finds something. It gives up if the channel is closed and
/// nothing is found. Blocks the fibre (or thread).
pub(super) fn wait_for<S: News, F>(
    state: &Locked<S>,
    limit: Limit,
    mut look: impl FnMut(&mut S) -> Option<F>,
) -> Result<F, RecvTimeoutError> {
    loop {
        let mut found = None;
        let enter = |state: &mut S| {
            found = look(state);
            found.is_none() && !state.is_closed()
        };
        let wait = ListWait::new(WaitObject::new(WaitKind::Channel, state), limit);
        // SAFETY: the list is borrowed with the lock, and nobody replaces it; those that are
        // claimed are resumed.
        let outcome = unsafe { wait.in_list(state, S::waiting, enter) };
        match (found, outcome) {
            (Some(found), _) => return Ok(found),
            (None, Outcome::Woken(_)) => {}
            (None, Outcome::NotParked) => return Err(RecvTimeoutError::Closed),
            (None, Outcome::TimedOut) => return Err(RecvTimeoutError::TimedOut),
            (None, Outcome::Cancelled) => return Err(RecvTimeoutError::Cancelled),
        }
    }
}
