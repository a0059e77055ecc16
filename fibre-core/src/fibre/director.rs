//! What decides for a cluster under test.
//!
//! A cluster of one processor leaves little to chance: which of the ready fibres runs next, where a
//! fibre gives way, and what happens once nothing is ready. A *director* decides these; the word is
//! that of simulators. It is given to the cluster when that is built, as switch hooks are, and the
//! processor then runs a loop of its own (`processor/directed.rs`): clusters without a director pay
//! nothing.
//!
//! The clock is no part of it. A director that wants another one replaces the C library's
//! `clock_gettime`: all of this crate reads the time by that. There it finds itself again by
//! [`with_director`](crate::internal::with_director).

use super::switch_reason::SwitchReason;
use crate::wait::wait_object::WaitObject;
use std::any::Any;
use std::time::Instant;

/// Decides for a cluster under test.
///
/// The cluster's processor calls these on its own thread, between two fibres; those that say so are
/// called by a running fibre, which must not switch meanwhile. They must not block for long, nor
/// panic.
pub trait Director: Any + Send + Sync {
    /// Which of the ready fibres runs next: a place in `ready`. That has their numbers, in the
    /// order of a processor without a director, and is not empty.
    fn choose(&self, ready: &[u64]) -> usize;

    /// Whether the running fibre gives way here, at a call that could have blocked and did not have
    /// to, or at a [`yield_point`](crate::internal::yield_point). Asked only while others are
    /// ready, by a running fibre.
    fn gives_way(&self) -> bool;

    /// A number for a choice of the runtime's, such as which arm of a selection is tried first.
    /// Called by running fibres.
    fn draw(&self) -> u32;

    /// Whether nothing is said of fibres that panic, as the run repeats another one. Called by
    /// running fibres.
    fn is_quiet(&self) -> bool {
        false
    }

    /// The fibre with this number has panicked, or returned an error, and nobody learns of it.
    /// Called by running fibres, unless the program has a hook for that.
    fn failed_unseen(&self, fibre: u64);

    /// The fibre with this number has left its stack, for this reason, to wait for that.
    fn left(&self, fibre: u64, reason: SwitchReason, awaited: Option<WaitObject>);

    /// Another thread has made a fibre ready, or has spawned one.
    fn woken_from_outside(&self);

    /// Nothing is ready, and the earliest deadline of a fibre is this one.
    fn nothing_ready(&self, next: Option<Instant>) -> IdleAction;
}

/// What a processor does that has nothing to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleAction {
    /// It looks again, and fires what the clock says is due: the director has changed something.
    Looks,
    /// It sleeps until another thread wakes it.
    Sleeps,
}
